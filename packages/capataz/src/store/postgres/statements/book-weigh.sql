-- The beginning of a book: of each row the sequence, and how many pages of 4 KiB it takes, about.
-- $1 job id, $2 limit
SELECT seq, octet_length(entries) / 4096 AS pages FROM history WHERE job = $1 ORDER BY seq LIMIT $2
