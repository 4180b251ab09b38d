-- $1 JSON rows
INSERT INTO inbox (job, id, kind, name, body, expires_at)
SELECT job, id, kind, name, body, expires_at
FROM json_to_recordset($1::json) AS r (job text, id text, kind text, name text, body text, expires_at bigint)
