-- ?1 event id, ?2 at, ?3 by whom, ?4 notes
UPDATE outbox_dlq SET resolved_at = ?2, resolved_by = ?3, resolution_notes = ?4
WHERE original_event_id = ?1 AND resolved_at IS NULL
