-- Dead letters in the order in which they were given up, behind a place.
-- ?1 moved at, ?2 event id, ?3 whether resolved ones count, ?4 limit; each null where it is all the same:
-- ?5 client, ?6 event's name, ?7 job's id, ?8 event ids as JSON
SELECT d.original_event_id AS id, d.aggregate_id, d.event_type, d.payload, d.metadata,
  d.original_created_at AS created_at, d.retry_count, d.error_message AS last_error, d.moved_at, d.resolved_at,
  d.resolved_by, d.resolution_notes
FROM outbox_dlq d
WHERE (d.moved_at, d.original_event_id) > (?1, ?2)
  AND (d.resolved_at IS NULL OR ?3)
  AND (?5 IS NULL OR json_extract(d.metadata, '$.client') = ?5)
  AND (?6 IS NULL OR d.event_type = ?6)
  AND (?7 IS NULL OR d.aggregate_id = ?7)
  AND (?8 IS NULL OR d.original_event_id IN (SELECT value FROM json_each(?8)))
ORDER BY d.moved_at, d.original_event_id LIMIT ?4
