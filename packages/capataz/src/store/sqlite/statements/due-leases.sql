-- Leases that have ended, earliest end first, and the one that ends next.
-- ?1 now, ?2 limit
SELECT * FROM (SELECT id, lease_token, lease_until FROM jobs WHERE lease_until <= ?1 ORDER BY lease_until LIMIT ?2)
UNION ALL SELECT * FROM (SELECT id, lease_token, lease_until FROM jobs WHERE lease_until > ?1 ORDER BY lease_until LIMIT 1)
