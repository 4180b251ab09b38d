-- Runnable jobs of blueprint versions, oldest first.
-- $1 names, $2 versions, $3 limit
SELECT f.id FROM unnest($1::text[], $2::integer[]) AS b (name, version) CROSS JOIN LATERAL (
  SELECT id, n FROM jobs WHERE runnable AND blueprint = b.name AND blueprint_version = b.version
  ORDER BY n LIMIT $3) f
ORDER BY f.n LIMIT $3
