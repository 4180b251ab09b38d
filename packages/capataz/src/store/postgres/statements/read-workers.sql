-- $1 ids, or null for all
SELECT worker, last_seen_at, silent_at FROM workers
WHERE $1::text[] IS NULL OR id = ANY ($1::text[]) ORDER BY id
