-- The same for a change that leaves the job as it is, so that what the job waits for is read from it.
-- ?1 id
SELECT n, version, held, lease_token, lease_until, timers, due_at, beside, status, runnable, rest -> '$.wait' AS wait
FROM jobs WHERE id = ?1
