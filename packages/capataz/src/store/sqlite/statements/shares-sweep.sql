-- Settled shares that have run out.
-- ?1 at, ?2 limit
DELETE FROM reservations WHERE id IN (
  SELECT id FROM reservations WHERE job IS NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
