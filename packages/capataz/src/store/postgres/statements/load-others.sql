-- Of jobs that wait for several tasks one besides those that are named, and one that nothing moves, which
-- is all that the rules ask for, however many there are.
-- $1 job ids, $2 and $3 named tasks: job ids and task ids
WITH named AS (
  SELECT * FROM unnest($2::text[], $3::text[]) AS n (job, id)
), wanted AS (
  SELECT o.job, o.id FROM unnest($1::text[]) AS p (job) CROSS JOIN LATERAL (
    SELECT t.job, t.id FROM tasks t
    WHERE t.job = p.job AND (t.job, t.id) NOT IN (SELECT n.job, n.id FROM named n)
    LIMIT 1) o
  UNION SELECT s.job, s.id FROM unnest($1::text[]) AS p (job) CROSS JOIN LATERAL (
    SELECT t.job, t.id FROM tasks t
    WHERE t.job = p.job AND NOT t.queued AND t.due_at IS NULL AND t.status <> 'PENDING'
      AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = t.worker)
      AND (t.job, t.id) NOT IN (SELECT n.job, n.id FROM named n)
    LIMIT 1) s
)
SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation, t.assigned_at,
  t.hand_out, t.failures, t.lost_runs, t.timers, t.spec,
  EXISTS (SELECT 1 FROM workers w WHERE t.due_at IS NULL AND w.id = t.worker) AS watched
FROM wanted x JOIN tasks t ON t.job = x.job AND t.id = x.id ORDER BY t.n
