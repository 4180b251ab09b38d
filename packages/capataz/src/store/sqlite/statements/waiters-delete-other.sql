-- The job waits for this key or for none.
-- ?1 job number, ?2 key or null. Result: the keys that it waits for no more.
DELETE FROM waiters WHERE job = ?1 AND key IS NOT ?2 RETURNING key
