-- Whether anybody waits for a key at all.
SELECT 1 AS found FROM waiters LIMIT 1
