-- Rows of a job whose last entry lies behind a sequence.
-- $1 id, $2 sequence, $3 limit
SELECT seq, at, count, entries FROM books WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3
