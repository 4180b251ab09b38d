-- Open tasks of jobs, by arrival, without their payloads.
-- $1 job ids
SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation,
  t.assigned_at, t.hand_out, t.failures, t.lost_runs, t.timers,
  (t.spec::jsonb || '{"params": {}, "metadata": null}')::text AS spec
FROM tasks t WHERE t.job = ANY ($1::text[]) ORDER BY t.n
