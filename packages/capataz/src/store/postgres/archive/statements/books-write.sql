-- Rows that are there already are passed over. Those whose position another one has are left out of the count.
-- One array a column.
INSERT INTO books (position, job, seq, at, count, entries, client, correlation)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::integer[], $6::text[],
  $7::text[], $8::text[])
ON CONFLICT (position) DO UPDATE SET seq = excluded.seq
  WHERE books.job = excluded.job AND books.seq = excluded.seq
