-- The beginning of a book goes.
-- ?1 job number, ?2 last sequence of what goes
DELETE FROM history WHERE job = ?1 AND seq <= ?2
