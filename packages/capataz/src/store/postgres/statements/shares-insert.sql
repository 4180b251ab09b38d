-- $1 JSON rows
INSERT INTO reservations (key, job, amount, expires_at, until_wait)
SELECT key, job, amount, expires_at, until_wait
FROM json_to_recordset($1::json) AS r (key text, job text, amount double precision, expires_at bigint,
  until_wait boolean)
