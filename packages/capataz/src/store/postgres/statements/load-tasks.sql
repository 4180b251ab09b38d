-- Open tasks of a commit's jobs: all of some, and of the held; of the others those that are named. The
-- spec only of what a claim of the same commit may hand out.
-- $1 job ids, $2 ids of jobs whose tasks are all needed, $3 and $4 named tasks: job ids and task ids, $5 ids
-- of tasks that may be queued again
SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation, t.assigned_at,
  t.hand_out, t.failures, t.lost_runs, t.timers,
  CASE WHEN t.status = 'PENDING' OR t.id = ANY ($5::text[]) THEN t.spec END AS spec,
  CASE WHEN t.due_at IS NULL THEN EXISTS (SELECT 1 FROM workers w WHERE w.id = t.worker) ELSE false END AS watched
FROM (
  SELECT t.* FROM tasks t WHERE t.job = ANY ($2::text[])
  UNION ALL
  SELECT t.* FROM jobs j JOIN tasks t ON t.job = j.id
  WHERE j.id = ANY ($1::text[]) AND j.held AND j.id <> ALL ($2::text[])
  UNION ALL
  SELECT t.* FROM unnest($3::text[], $4::text[]) AS x (job, id) JOIN tasks t ON t.job = x.job AND t.id = x.id
) t ORDER BY t.n
