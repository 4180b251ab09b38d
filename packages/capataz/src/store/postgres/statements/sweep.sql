-- Settled shares and letters that have run out.
-- $1 limit of each
WITH shares_gone AS (DELETE FROM reservations WHERE id IN (
  SELECT id FROM reservations WHERE job IS NULL AND expires_at <= stamp() ORDER BY expires_at LIMIT $1))
DELETE FROM letters WHERE n IN (
  SELECT n FROM letters WHERE expires_at <= stamp() ORDER BY expires_at LIMIT $1)
