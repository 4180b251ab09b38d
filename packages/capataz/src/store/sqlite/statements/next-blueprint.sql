-- The next blueprint version with open jobs: the index is read by leaps.
-- ?1 name, ?2 version
SELECT blueprint, blueprint_version FROM jobs
WHERE status <> 'quarantined' AND (blueprint, blueprint_version) > (?1, ?2)
ORDER BY blueprint, blueprint_version LIMIT 1
