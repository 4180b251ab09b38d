-- Shares of a key that have run out.
-- ?1 key, ?2 at
DELETE FROM reservations WHERE key = ?1 AND expires_at <= ?2
