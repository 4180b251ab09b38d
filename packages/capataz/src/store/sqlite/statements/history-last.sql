-- The last sequence of a job's book, 0 where it is empty.
-- ?1 job number
SELECT coalesce(max(seq), 0) AS seq FROM history WHERE job = ?1
