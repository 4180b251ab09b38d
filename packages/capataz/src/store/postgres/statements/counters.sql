SELECT name, sum(value)::bigint AS value FROM counters GROUP BY name
