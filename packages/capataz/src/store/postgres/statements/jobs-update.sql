-- Jobs that a change has moved on.
-- One array a column.
UPDATE jobs SET lease_until = r.lease_until, timers = r.timers, due_at = r.due_at,
  last_seq = r.last_seq, version = r.version, status = r.status, state = r.state, held = r.held,
  runnable = r.runnable, lease_token = r.lease_token, wait_key = r.wait_key, place = r.place,
  entered_at = r.entered_at, record = r.record, data = r.data
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
  $8::text[], $9::boolean[], $10::boolean[], $11::text[], $12::text[], $13::bigint[], $14::bigint[],
  $15::text[], $16::text[])
  AS r (id, lease_until, timers, due_at, last_seq, version, status, state, held, runnable, lease_token,
    wait_key, place, entered_at, record, data)
WHERE jobs.id = r.id
