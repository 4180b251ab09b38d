-- Workers, earliest end of silence first.
-- $1 limit
SELECT id, silent_at FROM workers ORDER BY silent_at, id LIMIT $1
