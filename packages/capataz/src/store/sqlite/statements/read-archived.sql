-- How far moving books has come.
-- ?1 id of a job, or null
SELECT coalesce((SELECT value FROM counters WHERE name = 'moved'), 0) AS position,
  coalesce((SELECT seq FROM archived_books WHERE job = ?1 AND is_forgotten = 0), 0) AS seq
