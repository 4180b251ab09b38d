-- What is held under a key, and when the next share expires.
-- ?1 key
SELECT coalesce(sum(amount), 0) AS held, min(expires_at) AS next FROM reservations WHERE key = ?1
