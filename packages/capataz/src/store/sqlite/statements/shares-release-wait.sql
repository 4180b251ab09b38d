-- The job's wait is over: it gives back what it held for that.
-- ?1 job number. Result: what it gave back.
DELETE FROM reservations WHERE job = ?1 AND until_wait = 1 RETURNING key, expires_at
