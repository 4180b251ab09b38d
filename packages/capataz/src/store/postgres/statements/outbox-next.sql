-- In how many ms another one may be tried again.
-- $1 the instant of a test or null
SELECT min(ms(next_attempt_at)) - store_now($1) AS ms FROM outbox_events o
WHERE next_attempt_at > (SELECT instant(store_now($1)))
  AND NOT EXISTS (SELECT 1 FROM outbox_events e WHERE e.aggregate_id = o.aggregate_id AND e.n < o.n)
