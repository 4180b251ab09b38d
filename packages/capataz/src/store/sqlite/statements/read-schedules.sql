-- ?1 names as JSON, or null: all of them
SELECT name, handled, paused_at, resumed_at, changed_by, recent FROM schedules
WHERE ?1 IS NULL OR name IN (SELECT value FROM json_each(?1)) ORDER BY name
