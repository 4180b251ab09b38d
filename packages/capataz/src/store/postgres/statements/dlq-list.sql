-- Dead letters in the order in which they were given up, behind one of them.
-- $1 event id or null, $2 whether resolved ones count, $3 limit; each null where it is all the same:
-- $4 client, $5 event's name, $6 job's id, $7 event ids
SELECT original_event_id AS id, aggregate_id, event_type, payload, metadata,
  ms(original_created_at) AS created_at, retry_count, error_message AS last_error, ms(moved_at) AS moved_at,
  ms(resolved_at) AS resolved_at, resolved_by, resolution_notes
FROM outbox_dlq
WHERE n > coalesce((SELECT d.n FROM outbox_dlq d WHERE d.original_event_id = $1::text), 0)
  AND (resolved_at IS NULL OR $2::boolean)
  AND ($4::text IS NULL OR metadata ->> 'client' = $4)
  AND ($5::text IS NULL OR event_type = $5)
  AND ($6::text IS NULL OR aggregate_id = $6)
  AND ($7::text[] IS NULL OR original_event_id = ANY ($7))
ORDER BY n LIMIT $3
