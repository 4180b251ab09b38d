-- ?1 client, ?2 key, ?3 hash of the body, ?4 job id, ?5 expiry
INSERT OR REPLACE INTO idempotency (client, key, body_hash, job_id, expires_at, look_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?5)
