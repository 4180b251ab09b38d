-- The first event of each job that is not published yet, where it is due and no other publishes it.
-- $1 the instant of a test or null, $2 limit, $3 who publishes, $4 how long the others leave them alone
WITH instant AS (SELECT store_now($1) AS at),
  due AS (
    SELECT o.n FROM outbox_events o, instant
    WHERE next_attempt_at <= instant(instant.at)
      AND (held_by IS NULL OR held_by = $3 OR held_until <= instant.at)
      AND NOT EXISTS (SELECT 1 FROM outbox_events e WHERE e.aggregate_id = o.aggregate_id AND e.n < o.n)
    ORDER BY o.n LIMIT $2 FOR UPDATE OF o SKIP LOCKED),
  taken AS (
    UPDATE outbox_events o SET held_by = $3, held_until = instant.at + $4::bigint
    FROM due, instant WHERE o.n = due.n
    RETURNING o.*)
SELECT id, aggregate_id, event_type, payload, metadata, ms(created_at) AS created_at, retry_count, last_error
FROM taken ORDER BY n
