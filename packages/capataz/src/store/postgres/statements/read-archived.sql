-- How far moving books has come.
-- $1 id of a job, or null
SELECT coalesce((SELECT value FROM marks WHERE name = 'moved'), 0) AS position,
  coalesce((SELECT seq FROM archived_books WHERE job = $1 AND NOT is_forgotten), 0) AS seq
