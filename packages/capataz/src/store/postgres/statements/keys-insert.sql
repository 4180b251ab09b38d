-- $1 JSON rows
INSERT INTO idempotency (client, key, body_hash, job, expires_at, look_at)
SELECT client, key, body_hash, job, expires_at, expires_at
FROM json_to_recordset($1::json) AS r (client text, key text, body_hash text, job text, expires_at bigint)
