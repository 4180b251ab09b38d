-- Keys that are old, but whose job is open, are looked at again later.
-- $1 the next look, $2 limit. Result: how many.
WITH old AS (
    SELECT i.client, i.key FROM idempotency i JOIN jobs j ON j.id = i.job AND j.created_at < i.expires_at
    WHERE i.look_at <= stamp() ORDER BY i.look_at LIMIT $2),
  done AS (UPDATE idempotency i SET look_at = stamp() + $1::bigint FROM old
    WHERE i.client = old.client AND i.key = old.key RETURNING 1)
SELECT count(*) AS count FROM done
