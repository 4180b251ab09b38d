-- $1 the instant of a test or null, $2 event ids, $3 by whom, $4 notes. Result: those that were unresolved.
WITH done AS (
  UPDATE outbox_dlq SET resolved_at = instant(store_now($1)), resolved_by = left($3, 100), resolution_notes = $4
  WHERE original_event_id = ANY ($2::text[]) AND resolved_at IS NULL RETURNING original_event_id AS id)
SELECT id FROM done ORDER BY array_position($2::text[], id::text)
