-- How many jobs have ended and are not forgotten.
SELECT coalesce(sum(value), 0) AS total FROM counters WHERE name GLOB 'ended:*'
