-- ?1 job number
DELETE FROM waiters WHERE job = ?1
