-- Open tasks of jobs, by arrival.
-- $1 job ids
SELECT job, id, n, class, status, queued, attempts, attempt_id, worker, incarnation, assigned_at,
  hand_out, failures, lost_runs, timers, spec
FROM tasks WHERE job = ANY ($1::text[]) ORDER BY n
