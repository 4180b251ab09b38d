-- Workers, earliest end of silence first.
-- ?1 limit
SELECT id, silent_at FROM workers ORDER BY silent_at LIMIT ?1
