-- $1 limit. Result: how many.
WITH gone AS (DELETE FROM idempotency WHERE (client, key) IN (
  SELECT i.client, i.key FROM idempotency i
  WHERE i.look_at <= stamp() AND NOT EXISTS (
    SELECT 1 FROM jobs j WHERE j.id = i.job AND j.created_at < i.expires_at)
  ORDER BY i.look_at LIMIT $1) RETURNING 1)
SELECT count(*) AS count FROM gone
