-- Rows of all jobs behind a position.
-- ?1 position, ?2 the last one, ?3 limit
SELECT position, job AS id, seq, at, count, entries, client, correlation FROM books
WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT ?3
