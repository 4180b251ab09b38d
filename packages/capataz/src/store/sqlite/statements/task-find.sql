-- An open task, as far as a change is checked against it.
-- ?1 job number, ?2 task id
SELECT n, status, attempt_id, worker, timers FROM tasks WHERE job = ?1 AND id = ?2
