-- ?1 at, ?2 limit
DELETE FROM letters WHERE n IN (
  SELECT n FROM letters WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
