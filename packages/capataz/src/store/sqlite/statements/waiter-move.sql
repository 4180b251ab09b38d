-- ?1 job number, ?2 key
UPDATE waiters SET key = ?2 WHERE job = ?1
