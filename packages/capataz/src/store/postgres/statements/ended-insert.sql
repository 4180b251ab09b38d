-- Ended jobs, in the order of their ends.
-- $1 JSON rows
INSERT INTO ended_jobs (id, client, correlation, blueprint, status, state, error_code, ended_at, record, data)
SELECT id, client, correlation, blueprint, status, state, error_code, ended_at, record, data
FROM json_to_recordset($1::json) AS r (id text, client text, correlation text, blueprint text, status text,
  state text, error_code text, ended_at bigint, record text, data text)
