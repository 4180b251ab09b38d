-- Open jobs, oldest first, whose blueprint version was not offered since an instant. The blueprint
-- versions with open jobs are read by leaps.
-- $1 the instant of a test or null, $2 older than, $3 names and $4 versions offered here, $5 limit
WITH RECURSIVE found (blueprint, version) AS (
  (SELECT blueprint, blueprint_version FROM jobs WHERE status <> 'quarantined'
   ORDER BY blueprint, blueprint_version LIMIT 1)
  UNION ALL
  SELECT n.blueprint, n.blueprint_version FROM found f CROSS JOIN LATERAL (
    SELECT j.blueprint, j.blueprint_version FROM jobs j
    WHERE j.status <> 'quarantined' AND (j.blueprint, j.blueprint_version) > (f.blueprint, f.version)
    ORDER BY j.blueprint, j.blueprint_version LIMIT 1) n)
SELECT o.id FROM found f CROSS JOIN LATERAL (
  SELECT id, n FROM jobs
  WHERE status <> 'quarantined' AND blueprint = f.blueprint AND blueprint_version = f.version
  ORDER BY n LIMIT $5) o
WHERE NOT EXISTS (
    SELECT 1 FROM unnest($3::text[], $4::integer[]) AS own (name, version)
    WHERE own.name = f.blueprint AND own.version = f.version)
  AND NOT EXISTS (
    SELECT 1 FROM blueprints b WHERE b.name = f.blueprint AND b.version = f.version
      AND b.offered_at >= (SELECT store_now($1)) - $2::bigint)
ORDER BY o.n LIMIT $5
