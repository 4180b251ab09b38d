-- Back into the outbox, with the tries counted anew, in the order in which they were given up.
-- $1 the instant of a test or null, $2 event ids. Result: those that were there and unresolved.
WITH gone AS (
    DELETE FROM outbox_dlq WHERE original_event_id = ANY ($2::text[]) AND resolved_at IS NULL RETURNING *),
  back AS (
    INSERT INTO outbox_events (id, aggregate_id, aggregate_type, event_type, payload, metadata, created_at,
      last_error, next_attempt_at)
    SELECT original_event_id, aggregate_id, aggregate_type, event_type, payload, metadata, original_created_at,
      error_message, instant(store_now($1))
    FROM gone ORDER BY array_position($2::text[], original_event_id::text))
SELECT original_event_id AS id FROM gone ORDER BY array_position($2::text[], original_event_id::text)
