-- Whether a job has an open task besides these.
-- ?1 job number, ?2 JSON list of task ids
SELECT 1 AS found FROM tasks WHERE job = ?1 AND id NOT IN (SELECT value FROM json_each(?2)) LIMIT 1
