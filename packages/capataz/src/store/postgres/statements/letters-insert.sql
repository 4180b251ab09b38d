-- $1 JSON rows
INSERT INTO letters (address, signal, id, kind, name, body, expires_at)
SELECT address, signal, id, kind, name, body, expires_at
FROM json_to_recordset($1::json) AS r (address text, signal text, id text, kind text, name text, body text,
  expires_at bigint)
