-- Moves the ends of leases that are still current. Rows are locked by ascending id.
-- $1 the instant of a test or null, $2 job ids, $3 tokens, $4 how long. Result: tokens that are current.
WITH r AS (SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[]) AS u (id, token, ms)),
  locked AS (
    SELECT j.id, r.token, r.ms FROM jobs j JOIN r ON r.id = j.id AND r.token = j.lease_token
    ORDER BY j.id FOR UPDATE OF j)
UPDATE jobs SET lease_until = (SELECT store_now($1)) + l.ms FROM locked l
WHERE jobs.id = l.id RETURNING l.token
