-- The first sign of work.
-- ?1 number
UPDATE tasks SET status = 'RUNNING' WHERE n = ?1
