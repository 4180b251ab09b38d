-- What became of events: published ones go, dead ones are moved, failed ones wait for the next try.
-- $1 the instant of a test or null, $2 JSON rows
WITH v AS (
    SELECT DISTINCT ON (id) * FROM json_to_recordset($2::json)
      AS u (id text, type text, error text, retry_after bigint, place integer) ORDER BY id, place),
  instant AS (SELECT store_now($1) AS at),
  gone AS (
    DELETE FROM outbox_events o USING v WHERE o.id = v.id AND v.type IN ('published', 'dead')
    RETURNING o.*, v.type, v.error, v.place),
  dead AS (
    INSERT INTO outbox_dlq (original_event_id, aggregate_id, aggregate_type, event_type, payload, metadata,
      error_message, retry_count, original_created_at, moved_at)
    SELECT g.id, g.aggregate_id, g.aggregate_type, g.event_type, g.payload, g.metadata, g.error,
      g.retry_count + 1, g.created_at, instant(instant.at)
    FROM gone g, instant WHERE g.type = 'dead' ORDER BY g.place)
UPDATE outbox_events o SET retry_count = o.retry_count + 1, last_error = v.error, held_by = NULL,
  next_attempt_at = instant(instant.at + v.retry_after)
FROM v, instant WHERE o.id = v.id AND v.type = 'failed'
