-- $1 JSON rows
INSERT INTO attributes (name, value, job)
SELECT name, md5(value), job FROM json_to_recordset($1::json) AS r (name text, value text, job text)
