-- A slice of the hot jobs by ascending id, without their payloads.
-- ?1 id, ?2 limit
SELECT j.n, j.id, j.version, j.client, j.blueprint, j.blueprint_version, j.status, j.state, j.entry, j.hops,
  j.failures, j.held, j.created_at, j.entered_at, NULL AS ended_at, j.rest, '{}' AS data, i.correlation, 'null' AS input, i.fixed,
  j.lease_until, j.timers
FROM jobs j JOIN inputs i ON i.n = j.n
WHERE j.id > ?1 ORDER BY j.id LIMIT ?2
