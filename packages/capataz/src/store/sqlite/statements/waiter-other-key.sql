-- The key that the job has waited for and waits for no more.
-- ?1 job number, ?2 the key that it waits for, or null
SELECT key FROM waiters WHERE job = ?1 AND key IS NOT ?2
