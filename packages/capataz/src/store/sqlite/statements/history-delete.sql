-- Where history is off, the book goes with the job.
-- ?1 job number
DELETE FROM history WHERE job = ?1
