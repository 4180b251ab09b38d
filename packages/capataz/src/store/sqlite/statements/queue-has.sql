-- Whether anything is queued in a class.
-- ?1 class
SELECT 1 AS found FROM tasks WHERE class = ?1 AND queued = 1 LIMIT 1
