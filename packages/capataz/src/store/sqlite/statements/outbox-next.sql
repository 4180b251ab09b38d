-- When another one may be tried again.
-- ?1 at
SELECT min(next_attempt_at) AS at FROM outbox_events o
WHERE next_attempt_at > ?1
  AND NOT EXISTS (SELECT 1 FROM outbox_events e WHERE e.aggregate_id = o.aggregate_id AND e.n < o.n)
