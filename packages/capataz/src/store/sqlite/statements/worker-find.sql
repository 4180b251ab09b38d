-- ?1 id
SELECT 1 AS found FROM workers WHERE id = ?1
