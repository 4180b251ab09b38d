-- New jobs that have not ended, in the order of their arrival.
-- One array a column.
INSERT INTO jobs (id, lease_until, timers, due_at, last_seq, version, status, state, held, runnable,
  lease_token, wait_key, place, entered_at, record, data, client, correlation, blueprint,
  blueprint_version, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
  $7::text[], $8::text[], $9::boolean[], $10::boolean[], $11::text[], $12::text[], $13::bigint[],
  $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[],
  $21::bigint[])
