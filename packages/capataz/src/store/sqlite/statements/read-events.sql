-- Rows of all jobs behind a position.
-- ?1 position, ?2 limit
SELECT h.position, h.seq, h.at, h.count, h.entries, i.id, i.client, i.correlation
FROM history h JOIN inputs i ON i.n = h.job
WHERE h.position > ?1 ORDER BY h.position LIMIT ?2
