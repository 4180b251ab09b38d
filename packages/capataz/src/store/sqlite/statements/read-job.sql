-- ?1 id
SELECT j.n, j.id, j.version, j.client, j.blueprint, j.blueprint_version, j.status, j.state, j.entry, j.hops,
  j.failures, j.held, j.created_at, j.entered_at, NULL AS ended_at, j.rest, j.data, i.correlation, i.input, i.fixed,
  j.lease_until, j.timers
FROM jobs j JOIN inputs i ON i.n = j.n
WHERE j.id = ?1
