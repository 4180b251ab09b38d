-- Leases, earliest end first.
-- $1 limit
SELECT id, lease_token, lease_until FROM jobs WHERE lease_until IS NOT NULL ORDER BY lease_until, n LIMIT $1
