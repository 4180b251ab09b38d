-- Idempotency keys that have run out and are used anew.
-- $1, $2 and $3 clients, keys and the job ids for which they were used
DELETE FROM idempotency i USING unnest($1::text[], $2::text[], $3::text[]) AS r (client, key, job)
WHERE i.client = r.client AND i.key = r.key AND i.job = r.job
