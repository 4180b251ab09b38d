-- Silences that have ended get a grace. Leases may be another's.
-- $1 the instant of a test or null, $2 the grace
WITH instant AS (SELECT store_now($1) AS at)
UPDATE workers SET silent_at = instant.at + $2::bigint FROM instant WHERE silent_at <= instant.at
