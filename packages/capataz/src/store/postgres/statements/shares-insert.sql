-- One array a column.
INSERT INTO reservations (key, job, amount, expires_at, until_wait)
SELECT * FROM unnest($1::text[], $2::text[], $3::double precision[], $4::bigint[], $5::boolean[])
