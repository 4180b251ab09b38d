-- Moves the ends of leases that are still current. One whose job somebody else has locked keeps its end
-- until the next time: it must not keep all others from theirs.
-- $1 the instant of a test or null, $2 job ids, $3 tokens, $4 how long. Result: tokens that are current.
WITH r AS (SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[]) AS u (id, token, ms)),
  free AS (
    SELECT j.id, r.token, r.ms FROM jobs j JOIN r ON r.id = j.id AND r.token = j.lease_token
    ORDER BY j.id FOR UPDATE OF j SKIP LOCKED),
  renewed AS (
    UPDATE jobs SET lease_until = (SELECT store_now($1)) + f.ms FROM free f WHERE jobs.id = f.id)
SELECT r.token FROM jobs j JOIN r ON r.id = j.id AND r.token = j.lease_token
