-- ?1 id
SELECT e.n, e.id, e.version, e.client, e.blueprint, e.blueprint_version, e.status, e.state, e.entry, e.hops,
  e.failures, e.held, e.created_at, e.entered_at, e.ended_at, e.rest, e.data, i.correlation, i.input, i.fixed,
  NULL AS lease_until, '{}' AS timers
FROM ended_jobs e JOIN inputs i ON i.n = e.n
WHERE e.id = ?1
