-- $1 names, or null: all of them
SELECT name, handled, paused_at, resumed_at, changed_by, recent FROM schedules
WHERE $1::text[] IS NULL OR name = ANY ($1) ORDER BY name
