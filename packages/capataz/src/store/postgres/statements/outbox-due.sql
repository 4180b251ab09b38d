-- The first event of each job that is not published yet, where it is due.
-- $1 the instant of a test or null, $2 limit
SELECT id, aggregate_id, event_type, payload, metadata, ms(created_at) AS created_at, retry_count, last_error
FROM outbox_events o
WHERE next_attempt_at <= (SELECT instant(store_now($1)))
  AND NOT EXISTS (SELECT 1 FROM outbox_events e WHERE e.aggregate_id = o.aggregate_id AND e.n < o.n)
ORDER BY n LIMIT $2
