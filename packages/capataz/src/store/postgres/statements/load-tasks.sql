-- Open tasks of a commit's jobs: all of some, and of the held; of the others those that are named, one
-- besides, and one that nothing moves, which is all that the rules ask for, however many there are.
-- $1 job ids, $2 ids of jobs whose tasks are all needed, $3 and $4 named tasks: job ids and task ids
WITH whole AS (
  SELECT unnest($2::text[]) AS job UNION SELECT id FROM jobs WHERE id = ANY ($1::text[]) AND held
), named AS (
  SELECT * FROM unnest($3::text[], $4::text[]) AS n (job, id)
), wanted AS (
  SELECT t.job, t.id FROM whole w JOIN tasks t ON t.job = w.job
  UNION SELECT job, id FROM named
  UNION SELECT o.job, o.id FROM unnest($1::text[]) AS p (job) CROSS JOIN LATERAL (
    SELECT t.job, t.id FROM tasks t
    WHERE t.job = p.job AND (t.job, t.id) NOT IN (SELECT n.job, n.id FROM named n)
    LIMIT 1) o
  UNION SELECT s.job, s.id FROM unnest($1::text[]) AS p (job) CROSS JOIN LATERAL (
    SELECT t.job, t.id FROM tasks t
    WHERE t.job = p.job AND t.status <> 'PENDING' AND t.due_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = t.worker)
      AND (t.job, t.id) NOT IN (SELECT n.job, n.id FROM named n)
    LIMIT 1) s
)
SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation, t.assigned_at,
  t.hand_out, t.failures, t.lost_runs, t.timers, t.spec,
  EXISTS (SELECT 1 FROM workers w WHERE t.due_at IS NULL AND w.id = t.worker) AS watched
FROM wanted x JOIN tasks t ON t.job = x.job AND t.id = x.id ORDER BY t.n
