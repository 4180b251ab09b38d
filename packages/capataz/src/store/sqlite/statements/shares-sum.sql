-- What others hold under a key, and when the next share of theirs expires.
-- ?1 key, ?2 the job's number or null
SELECT coalesce(sum(amount), 0) AS held, min(expires_at) AS next FROM reservations
WHERE key = ?1 AND job IS NOT coalesce(?2, -1)
