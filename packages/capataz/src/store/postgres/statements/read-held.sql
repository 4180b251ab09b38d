-- What a worker holds, in the order of hand-out.
-- $1 worker
SELECT job, id, n, class, status, queued, attempts, attempt_id, worker, incarnation, assigned_at,
  hand_out, failures, lost_runs, timers, spec
FROM tasks WHERE worker = $1 ORDER BY hand_out
