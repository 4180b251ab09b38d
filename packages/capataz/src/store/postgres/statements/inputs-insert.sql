-- $1 JSON rows
INSERT INTO inputs (id, client, correlation, pinned)
SELECT id, client, correlation, pinned
FROM json_to_recordset($1::json) AS r (id text, client text, correlation text, pinned text)
