-- A job gives back what it holds of a key.
-- ?1 job number, ?2 key. Result: what it gave back.
DELETE FROM reservations WHERE job = ?1 AND key = ?2 RETURNING key, expires_at
