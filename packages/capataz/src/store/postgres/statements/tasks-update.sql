-- Tasks that were handed out, started or queued again.
-- One array a column.
UPDATE tasks SET status = r.status, attempts = r.attempts, failures = r.failures, queued = r.queued,
  attempt_id = r.attempt_id, worker = r.worker, incarnation = r.incarnation,
  assigned_at = r.assigned_at, hand_out = r.hand_out, lost_runs = r.lost_runs, timers = r.timers,
  due_at = r.due_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::text[],
  $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[])
  AS r (id, job, status, attempts, failures, queued, attempt_id, worker, incarnation, assigned_at,
    hand_out, lost_runs, timers, due_at)
WHERE tasks.job = r.job AND tasks.id = r.id
