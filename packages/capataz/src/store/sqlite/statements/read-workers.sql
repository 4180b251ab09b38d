-- ?1 JSON ids, or null for all
SELECT worker, last_seen_at, silent_at FROM workers
WHERE ?1 IS NULL OR id IN (SELECT value FROM json_each(?1)) ORDER BY id
