-- Deadlines of a job that stays as it is otherwise.
-- ?1 number, ?2 timers, ?3 due
UPDATE jobs SET timers = ?2, due_at = ?3 WHERE n = ?1
