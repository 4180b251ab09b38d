-- The open jobs that registered a correlation key, the oldest first.
-- ?1 client, ?2 key
SELECT j.n, j.id, j.beside FROM addresses a JOIN jobs j ON j.n = a.job
WHERE a.client = ?1 AND a.key = ?2 ORDER BY a.job
