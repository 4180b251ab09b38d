-- Ended jobs, in the order of their ends.
-- One array a column.
INSERT INTO ended_jobs (id, client, correlation, blueprint, status, state, error_code, ended_at, record,
  data)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
  $8::bigint[], $9::text[], $10::text[])
