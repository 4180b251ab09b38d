-- $1 consumer, $2 ms of its lease
-- → a row, unless its lease ran out and was given up
UPDATE consumers SET lease_until = clock_timestamp() + $2::double precision * interval '1 ms'
WHERE id = $1 RETURNING id
