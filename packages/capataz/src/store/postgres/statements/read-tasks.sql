-- Open tasks of jobs, by arrival.
-- $1 job ids
SELECT * FROM tasks WHERE job = ANY ($1::text[]) ORDER BY n
