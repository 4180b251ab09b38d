-- Attempts in a status since before an instant, oldest first: the index holds only what is handed out.
-- ?1 status, ?2 instant, ?3 limit
SELECT j.id AS job_id, t.id AS task_id, t.attempt_id FROM tasks t JOIN jobs j ON j.n = t.job
WHERE t.worker IS NOT NULL AND t.status = ?1 AND t.assigned_at <= ?2
ORDER BY t.assigned_at, t.hand_out LIMIT ?3
