-- All open tasks of a job.
-- ?1 job number. Result: what was handed out, unordered.
DELETE FROM tasks WHERE job = ?1 RETURNING n, id, attempt_id, worker
