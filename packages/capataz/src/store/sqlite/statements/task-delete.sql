-- An ended task.
-- ?1 number
DELETE FROM tasks WHERE n = ?1
