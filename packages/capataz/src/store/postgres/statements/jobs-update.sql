-- Jobs that a change has moved on.
-- $1 JSON rows
UPDATE jobs SET version = r.version, status = r.status, state = r.state, held = r.held, runnable = r.runnable,
  lease_token = r.lease_token, lease_until = r.lease_until, timers = r.timers, due_at = r.due_at,
  wait_key = r.wait_key, place = r.place, last_seq = r.last_seq, entered_at = r.entered_at, record = r.record,
  data = r.data
FROM json_to_recordset($1::json) AS r (id text, version bigint, status text, state text, held boolean,
  runnable boolean, lease_token text, lease_until bigint, timers text, due_at bigint, wait_key text,
  place bigint, last_seq bigint, entered_at bigint, record text, data text)
WHERE jobs.id = r.id
