-- Remembers what a step gave, if its lease is current; the lock keeps the lease so until it is stored.
-- $1 job id, $2 lease token, $3 name, $4 value. Result: a row where it was stored.
WITH owner AS (SELECT id FROM jobs WHERE id = $1 AND lease_token = $2 FOR UPDATE)
INSERT INTO memos (job, name, value) SELECT id, $3, $4 FROM owner
ON CONFLICT (job, name) DO UPDATE SET value = excluded.value RETURNING job
