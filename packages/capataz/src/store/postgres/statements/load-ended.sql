-- Ended jobs that are locked. How far the book goes is read by a statement that begins under the lock: the
-- one that waits for it sees what was there before, and the row, which nobody changes, is not read anew.
-- $1 job ids
SELECT e.id, e.client, e.correlation, e.status,
  coalesce((SELECT max(h.seq) FROM history h WHERE h.job = e.id),
    (SELECT a.seq FROM archived_books a WHERE a.job = e.id AND NOT a.is_forgotten), 0) AS last_seq
FROM ended_jobs e WHERE e.id = ANY ($1::text[])
