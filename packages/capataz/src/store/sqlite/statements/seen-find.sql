-- ?1 job number, ?2 id
SELECT 1 AS found FROM seen WHERE job = ?1 AND id = ?2
