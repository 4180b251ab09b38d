-- An ended job gives back what it holds.
-- ?1 job number. Result: what it gave back.
DELETE FROM reservations WHERE job = ?1 RETURNING key, expires_at
