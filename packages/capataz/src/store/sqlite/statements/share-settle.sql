-- What was used of a share that expires stays until then, whatever becomes of the job.
-- ?1 job number, ?2 key, ?3 amount
UPDATE reservations SET job = NULL, amount = ?3 WHERE id = (
  SELECT id FROM reservations WHERE job = ?1 AND key = ?2 AND expires_at IS NOT NULL
  ORDER BY id DESC LIMIT 1)
