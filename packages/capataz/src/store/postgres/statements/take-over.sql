-- Ends all leases; silences that have ended get a grace.
-- $1 the instant of a test or null, $2 the grace
WITH instant AS (SELECT store_now($1) AS at),
  leases AS (
    UPDATE jobs SET lease_until = least(lease_until, instant.at) FROM instant WHERE lease_until IS NOT NULL)
UPDATE workers SET silent_at = instant.at + $2::bigint FROM instant WHERE silent_at <= instant.at
