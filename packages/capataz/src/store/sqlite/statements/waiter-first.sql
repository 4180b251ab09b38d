-- The job that waits for a key and arrived first.
-- ?1 key. Result: its number or null.
SELECT min(job) AS job FROM waiters WHERE key = ?1
