-- Rows of all books behind what was moved, up to where nothing can become visible late.
-- $1 position, $2 limit
SELECT h.position, h.job AS id, h.at FROM history h
WHERE h.position > $1 AND h.position <= current_setting('capataz.visible')::bigint
ORDER BY h.position LIMIT $2
