-- Dead letters in the order in which they were given up, behind a place.
-- $1 moved at, $2 event id, $3 whether resolved ones count, $4 limit; each null where it is all the same:
-- $5 client, $6 event's name, $7 job's id, $8 event ids
SELECT original_event_id AS id, aggregate_id, event_type, payload, metadata,
  ms(original_created_at) AS created_at, retry_count, error_message AS last_error, ms(moved_at) AS moved_at,
  ms(resolved_at) AS resolved_at, resolved_by, resolution_notes
FROM outbox_dlq
WHERE (ms(moved_at), original_event_id COLLATE "C") > ($1::bigint, $2::text)
  AND (resolved_at IS NULL OR $3::boolean)
  AND ($5::text IS NULL OR metadata ->> 'client' = $5)
  AND ($6::text IS NULL OR event_type = $6)
  AND ($7::text IS NULL OR aggregate_id = $7)
  AND ($8::text[] IS NULL OR original_event_id = ANY ($8))
ORDER BY ms(moved_at), original_event_id COLLATE "C" LIMIT $4
