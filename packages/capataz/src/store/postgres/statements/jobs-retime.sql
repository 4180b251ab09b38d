-- Jobs of which only deadlines, the lease's end or the length of the book are other ones.
-- One array a column.
UPDATE jobs SET lease_until = r.lease_until, timers = r.timers, due_at = r.due_at, last_seq = r.last_seq
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
  AS r (id, lease_until, timers, due_at, last_seq)
WHERE jobs.id = r.id
