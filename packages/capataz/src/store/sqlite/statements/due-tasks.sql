-- Tasks with a deadline that is over, earliest first, and the one whose deadline comes next.
-- ?1 now, ?2 limit
SELECT t.id, t.timers, j.id AS job_id FROM (
  SELECT * FROM (SELECT id, timers, job FROM tasks WHERE due_at <= ?1 ORDER BY due_at, n LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT id, timers, job FROM tasks WHERE due_at > ?1 ORDER BY due_at LIMIT 1)
) t JOIN jobs j ON j.n = t.job
