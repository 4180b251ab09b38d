-- Runnable jobs of a blueprint version, oldest first.
-- ?1 name, ?2 version, ?3 limit
SELECT n, id FROM jobs WHERE runnable = 1 AND blueprint = ?1 AND blueprint_version = ?2 ORDER BY n LIMIT ?3
