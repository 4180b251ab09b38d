-- Dead letters in the order in which they were given up, behind one of them.
-- ?1 event id or null, ?2 whether resolved ones count, ?3 limit; each null where it is all the same:
-- ?4 client, ?5 event's name, ?6 job's id, ?7 event ids as JSON
SELECT original_event_id AS id, aggregate_id, event_type, payload, metadata, original_created_at AS created_at,
  retry_count, error_message AS last_error, moved_at, resolved_at, resolved_by, resolution_notes
FROM outbox_dlq
WHERE id > coalesce((SELECT d.id FROM outbox_dlq d WHERE d.original_event_id = ?1), 0)
  AND (resolved_at IS NULL OR ?2)
  AND (?4 IS NULL OR json_extract(metadata, '$.client') = ?4)
  AND (?5 IS NULL OR event_type = ?5)
  AND (?6 IS NULL OR aggregate_id = ?6)
  AND (?7 IS NULL OR original_event_id IN (SELECT value FROM json_each(?7)))
ORDER BY id LIMIT ?3
