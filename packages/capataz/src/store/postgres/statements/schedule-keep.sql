-- $1 the instant of a test or null, $2 name; each null where it stays: $3 handled, $4 recent, $5 paused,
-- $6 by whom; $7 handled as it was read. Result: a row where it is still that.
UPDATE schedules SET
  handled = CASE WHEN NOT $5::boolean THEN coalesce($3::bigint, handled) ELSE greatest(handled, $3::bigint) END,
  recent = coalesce($4, recent),
  changed_by = CASE WHEN $5::boolean <> (paused_at IS NOT NULL) THEN $6 ELSE changed_by END,
  resumed_at = CASE WHEN NOT $5 AND paused_at IS NOT NULL THEN at ELSE resumed_at END,
  paused_at = CASE WHEN $5 THEN coalesce(paused_at, at) WHEN NOT $5 THEN NULL ELSE paused_at END
FROM store_now($1) AS at
WHERE name = $2 AND handled = $7::bigint RETURNING name
