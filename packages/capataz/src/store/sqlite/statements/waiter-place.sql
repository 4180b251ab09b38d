-- A job's place in the line for a key.
-- ?1 job number, ?2 key
SELECT place FROM waiters WHERE job = ?1 AND key = ?2
