-- A slice of the hot jobs by ascending id, without their payloads.
-- $1 id, $2 limit
SELECT j.id, j.timers, j.lease_until, j.record, '{}' AS data, (i.pinned::jsonb || '{"input": null}')::text AS pinned
FROM jobs j JOIN inputs i ON i.id = j.id
WHERE j.id > $1 ORDER BY j.id LIMIT $2
