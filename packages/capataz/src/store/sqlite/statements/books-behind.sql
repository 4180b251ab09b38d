-- Rows of all books behind what was moved.
-- ?1 position, ?2 limit
SELECT h.position, i.id, h.at FROM history h JOIN inputs i ON i.n = h.job
WHERE h.position > ?1 ORDER BY h.position LIMIT ?2
