-- How many jobs have ended and are not forgotten.
SELECT coalesce(sum(value), 0)::bigint AS total FROM counters WHERE name LIKE 'ended:%'
