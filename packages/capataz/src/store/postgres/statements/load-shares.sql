-- Shares that jobs hold, one by one, and under the locked keys what others hold that has not run out, as
-- one sum with the earliest end.
-- $1 job ids
SELECT id, key, job, amount, expires_at, until_wait FROM reservations WHERE job = ANY ($1::text[])
UNION ALL
SELECT NULL, key, NULL, sum(amount), min(expires_at), false FROM reservations
WHERE key = ANY (locked_keys()) AND (job IS NULL OR job <> ALL ($1::text[]))
  AND (expires_at IS NULL OR expires_at > stamp())
GROUP BY key
ORDER BY id
