-- Whether a task of a job, besides these, has nothing that moves it: handed out, without a deadline, its
-- worker unknown. The index holds next to nothing, since a hand-out sets a deadline.
-- ?1 job number, ?2 JSON list of task ids
SELECT 1 AS found FROM tasks INDEXED BY tasks_idle
WHERE job = ?1 AND status <> 'PENDING' AND due_at IS NULL AND id NOT IN (SELECT value FROM json_each(?2))
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = tasks.worker)
LIMIT 1
