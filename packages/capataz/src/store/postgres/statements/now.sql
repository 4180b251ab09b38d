-- $1 the instant of a test or null
SELECT store_now($1) AS at
