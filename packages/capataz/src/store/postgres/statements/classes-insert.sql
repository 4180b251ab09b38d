-- $1 JSON rows
INSERT INTO classes (id, class)
SELECT id, class FROM json_to_recordset($1::json) AS r (id text, class text) ORDER BY id
ON CONFLICT DO NOTHING
