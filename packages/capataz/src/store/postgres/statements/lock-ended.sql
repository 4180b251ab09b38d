-- Locks ended jobs, so that the sequence of a book has no gaps.
-- $1 job ids
SELECT e.id, e.client, e.correlation, e.status,
  coalesce((SELECT max(h.seq) FROM history h WHERE h.job = e.id),
    (SELECT a.seq FROM archived_books a WHERE a.job = e.id AND NOT a.is_forgotten), 0) AS last_seq
FROM ended_jobs e WHERE e.id = ANY ($1::text[]) ORDER BY e.id FOR UPDATE OF e
