-- What has lain in a job's inbox for too long.
-- ?1 job number, ?2 at
DELETE FROM inbox WHERE job = ?1 AND expires_at <= ?2
