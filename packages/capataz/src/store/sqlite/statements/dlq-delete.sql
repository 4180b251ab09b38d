-- ?1 event id
DELETE FROM outbox_dlq WHERE original_event_id = ?1 AND resolved_at IS NULL
