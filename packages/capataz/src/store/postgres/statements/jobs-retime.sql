-- Jobs of which only deadlines, the lease's end or the length of the book are other ones.
-- $1 JSON rows
UPDATE jobs SET lease_until = r.lease_until, timers = r.timers, due_at = r.due_at, last_seq = r.last_seq
FROM json_to_recordset($1::json) AS r (id text, lease_until bigint, timers text, due_at bigint, last_seq bigint)
WHERE jobs.id = r.id
