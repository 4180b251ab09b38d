-- Open tasks of jobs, by arrival, without their payloads.
-- ?1 JSON list of job ids
SELECT t.n, t.id, j.id AS job_id, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation,
  t.assigned_at, t.failures, t.lost_runs, t.timers,
  json_set(t.spec, '$.params', json('{}'), '$.metadata', NULL) AS spec
FROM jobs j JOIN tasks t ON t.job = j.n
WHERE j.id IN (SELECT value FROM json_each(?1)) ORDER BY t.n
