-- Whether a job has an open task.
-- ?1 job number
SELECT 1 AS found FROM tasks WHERE job = ?1 LIMIT 1
