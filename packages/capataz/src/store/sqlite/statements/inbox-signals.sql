-- How many signals lie in a job's inbox that have not expired.
-- ?1 job number, ?2 at
SELECT count(*) AS count FROM inbox
WHERE job = ?1 AND kind = 'signal' AND (expires_at IS NULL OR expires_at > ?2)
