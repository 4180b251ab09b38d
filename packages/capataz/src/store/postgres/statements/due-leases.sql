-- Leases that have ended, earliest end first, and the one that ends next.
-- $1 limit
(SELECT id, lease_token, lease_until FROM jobs WHERE lease_until <= stamp() ORDER BY lease_until, n LIMIT $1)
UNION ALL (SELECT id, lease_token, lease_until FROM jobs WHERE lease_until > stamp() ORDER BY lease_until LIMIT 1)
