-- Resolved ones, the earliest first.
-- $1 the instant of a test or null, $2 older than, $3 limit
WITH gone AS (DELETE FROM outbox_dlq WHERE n IN (
  SELECT n FROM outbox_dlq WHERE resolved_at < instant(store_now($1) - $2::bigint)
  ORDER BY resolved_at, n LIMIT $3) RETURNING n)
SELECT count(*) AS count FROM gone
