-- Rows of all jobs behind a position, up to where nothing can become visible late.
-- $1 position, $2 limit
SELECT h.position, h.job AS id, h.seq, h.at, h.count, h.entries, i.client, i.correlation
FROM history h JOIN inputs i ON i.id = h.job
WHERE h.position > $1 AND h.position <= current_setting('capataz.visible')::bigint
ORDER BY h.position LIMIT $2
