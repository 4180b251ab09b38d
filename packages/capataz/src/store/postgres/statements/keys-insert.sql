-- $1 clients, $2 keys, $3 hashes of bodies, $4 job ids, $5 when they run out
INSERT INTO idempotency (client, key, body_hash, job, expires_at, look_at)
SELECT client, key, body_hash, job, expires_at, expires_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
  AS r (client, key, body_hash, job, expires_at)
