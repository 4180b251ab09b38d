-- Which of these signals a job has taken, open or ended.
-- $1 job id, $2 signal ids
SELECT id FROM seen WHERE job = $1 AND id = ANY ($2::text[])
