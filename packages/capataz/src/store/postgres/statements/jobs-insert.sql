-- New jobs that have not ended, in the order of their arrival.
-- $1 JSON rows
INSERT INTO jobs (id, version, client, correlation, blueprint, blueprint_version, status, state, held, runnable,
  lease_token, lease_until, timers, due_at, wait_key, place, last_seq, created_at, entered_at, record, data)
SELECT id, version, client, correlation, blueprint, blueprint_version, status, state, held, runnable,
  lease_token, lease_until, timers, due_at, wait_key, place, last_seq, created_at, entered_at, record, data
FROM json_to_recordset($1::json) AS r (id text, version bigint, client text, correlation text, blueprint text, blueprint_version integer,
  status text, state text, held boolean, runnable boolean, lease_token text, lease_until bigint, timers text,
  due_at bigint, wait_key text, place bigint, last_seq bigint, created_at bigint, entered_at bigint, record text,
  data text)
