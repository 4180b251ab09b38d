-- An idempotency key that is still in force: young, or of an open job.
-- ?1 client, ?2 key, ?3 at
SELECT body_hash, job_id FROM idempotency
WHERE client = ?1 AND key = ?2
  AND (expires_at > ?3 OR EXISTS (SELECT 1 FROM jobs WHERE jobs.id = idempotency.job_id))
