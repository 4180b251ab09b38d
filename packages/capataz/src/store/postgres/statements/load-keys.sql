-- Idempotency keys, and when the job was created that has the key's if it is open.
-- $1 clients, $2 keys
SELECT i.client, i.key, i.body_hash, i.job, i.expires_at, j.created_at
FROM unnest($1::text[], $2::text[]) AS w (client, key)
JOIN idempotency i ON i.client = w.client AND i.key = w.key
LEFT JOIN jobs j ON j.id = i.job
