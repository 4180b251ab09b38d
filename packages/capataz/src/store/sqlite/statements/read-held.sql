-- What a worker holds, in the order of hand-out.
-- ?1 worker
SELECT t.n, t.id, j.id AS job_id, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation,
  t.assigned_at, t.failures, t.lost_runs, t.timers, t.spec
FROM tasks t JOIN jobs j ON j.n = t.job
WHERE t.worker = ?1 ORDER BY t.hand_out
