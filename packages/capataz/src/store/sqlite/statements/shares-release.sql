-- An ended job gives back what it holds.
-- ?1 job number
DELETE FROM reservations WHERE job = ?1
