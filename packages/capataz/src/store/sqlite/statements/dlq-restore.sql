-- Back into the outbox, its tries counted anew.
-- ?1 event id, ?2 at
INSERT INTO outbox_events (id, aggregate_id, aggregate_type, event_type, payload, metadata, created_at, last_error, next_attempt_at)
SELECT original_event_id, aggregate_id, aggregate_type, event_type, payload, metadata, original_created_at, error_message, ?2
FROM outbox_dlq WHERE original_event_id = ?1 AND resolved_at IS NULL
