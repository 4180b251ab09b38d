-- New jobs that have not ended, in the order of their arrival.
-- One array a column.
INSERT INTO jobs (id, lease_until, timers, due_at, last_seq, version, client, correlation, blueprint,
  blueprint_version, status, state, held, runnable, lease_token, wait_key, place, created_at,
  entered_at, record, data)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
  $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::boolean[],
  $14::boolean[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::bigint[], $20::text[],
  $21::text[])
