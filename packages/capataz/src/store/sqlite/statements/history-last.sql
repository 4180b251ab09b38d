-- The last sequence of a job's book, 0 where it is empty.
-- ?1 job number
SELECT coalesce(
  (SELECT max(seq) FROM history WHERE job = ?1),
  (SELECT a.seq FROM archived_books a JOIN inputs i ON i.id = a.job WHERE i.n = ?1 AND a.is_forgotten = 0),
  0) AS seq
