-- ?1 at, ?2 limit
DELETE FROM idempotency WHERE (client, key) IN (
  SELECT i.client, i.key FROM idempotency i
  WHERE i.look_at <= ?1 AND NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.id = i.job_id AND jobs.created_at < i.expires_at)
  ORDER BY i.look_at LIMIT ?2)
