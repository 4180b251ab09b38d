-- The first event of each job that is not published yet, where it is due.
-- ?1 at, ?2 limit
SELECT id, aggregate_id, event_type, payload, metadata, created_at, retry_count, last_error
FROM outbox_events o
WHERE next_attempt_at <= ?1
  AND NOT EXISTS (SELECT 1 FROM outbox_events e WHERE e.aggregate_id = o.aggregate_id AND e.n < o.n)
ORDER BY n LIMIT ?2
