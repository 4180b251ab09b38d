-- Tasks with deadlines, earliest first.
-- ?1 limit
SELECT t.id, t.timers, j.id AS job_id FROM tasks t JOIN jobs j ON j.n = t.job
WHERE t.due_at IS NOT NULL ORDER BY t.due_at, t.n LIMIT ?1
