-- An open job for which something is left, and whether it takes it.
-- ?1 id, ?2 the child that it has to wait for, or null
SELECT n, beside, coalesce(?2 IS NULL OR (rest ->> '$.wait.type' = 'child' AND rest ->> '$.wait.jobId' = ?2), 0)
  AS takes
FROM jobs WHERE id = ?1
