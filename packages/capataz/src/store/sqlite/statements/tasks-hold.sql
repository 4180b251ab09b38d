-- Takes the tasks of a job out of the queue, or puts them back.
-- ?1 job number, ?2 held
UPDATE tasks SET queued = (status = 'PENDING' AND delayed = 0 AND ?2 = 0) WHERE job = ?1
