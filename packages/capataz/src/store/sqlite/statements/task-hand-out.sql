-- Hands a queued task to a worker.
-- ?1 number, ?2 attempt, ?3 worker, ?4 incarnation, ?5 at, ?6 hand-out number, ?7 timers, ?8 due
UPDATE tasks SET status = iif(bound, 'SCHEDULED', 'ASSIGNED'), queued = 0, attempts = attempts + 1,
  attempt_id = ?2, worker = ?3, incarnation = ?4, assigned_at = ?5, hand_out = ?6, timers = ?7, due_at = ?8
WHERE n = ?1
RETURNING id, job, (SELECT jobs.id FROM jobs WHERE jobs.n = tasks.job) AS job_id, bound, status, attempts,
  failures, lost_runs, spec
