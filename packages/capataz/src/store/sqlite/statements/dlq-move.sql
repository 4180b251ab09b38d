-- Copies an event to the dead letters.
-- ?1 id, ?2 error, ?3 at
INSERT INTO outbox_dlq (original_event_id, aggregate_id, aggregate_type, event_type, payload, metadata,
  error_message, retry_count, original_created_at, moved_at)
SELECT id, aggregate_id, aggregate_type, event_type, payload, metadata, ?2, retry_count + 1, created_at, ?3
FROM outbox_events WHERE id = ?1
