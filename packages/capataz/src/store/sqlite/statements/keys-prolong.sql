-- Keys that are old, but whose job is open, are looked at again later.
-- ?1 at, ?2 the next look, ?3 limit
UPDATE idempotency SET look_at = ?2 WHERE (client, key) IN (
  SELECT i.client, i.key FROM idempotency i
  JOIN jobs ON jobs.id = i.job_id AND jobs.created_at < i.expires_at
  WHERE i.look_at <= ?1 ORDER BY i.look_at LIMIT ?3)
