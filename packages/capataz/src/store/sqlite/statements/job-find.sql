-- An open or quarantined job, as far as a change is checked against it.
-- ?1 id
SELECT n, version, held, lease_token, lease_until, timers, due_at, beside FROM jobs WHERE id = ?1
