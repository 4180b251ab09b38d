-- $1 the instant of a test or null, $2 name; each null where it is not given: $3 handled, $4 recent,
-- $5 paused, $6 by whom. Result: a row where there was none.
INSERT INTO schedules (name, handled, paused_at, changed_by, recent)
SELECT $2, coalesce($3::bigint, at), CASE WHEN $5::boolean THEN at END, CASE WHEN $5 THEN $6 END,
  coalesce($4, '[]')
FROM store_now($1) AS at
ON CONFLICT (name) DO NOTHING RETURNING name
