-- Takes the tasks of jobs out of the queue, or puts them back.
-- $1 job ids
UPDATE tasks SET queued = NOT j.held AND tasks.status = 'PENDING' AND tasks.timers::jsonb -> 'ready' IS NULL
FROM jobs j WHERE j.id = ANY ($1::text[]) AND tasks.job = j.id
