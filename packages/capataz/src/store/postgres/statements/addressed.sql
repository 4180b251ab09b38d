-- The open jobs that registered a correlation key, the oldest first.
-- $1 address
SELECT j.id FROM addresses a JOIN jobs j ON j.id = a.job WHERE a.address = $1 ORDER BY j.n
