-- The job that waits for a key the longest.
-- ?1 key. Result: its place in the line and its number.
SELECT place, job FROM waiters WHERE key = ?1 ORDER BY place LIMIT 1
