-- An idempotency key that is still in force: young, or of an open job. A job that took the id of one
-- that was forgotten is another, and was created after the key ran out.
-- ?1 client, ?2 key, ?3 at
SELECT body_hash, job_id FROM idempotency
WHERE client = ?1 AND key = ?2
  AND (expires_at > ?3 OR EXISTS (
    SELECT 1 FROM jobs WHERE jobs.id = idempotency.job_id AND jobs.created_at < idempotency.expires_at))
