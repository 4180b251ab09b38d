-- Makes one part of the many of each sum.
WITH parts AS (DELETE FROM counters RETURNING name, value)
INSERT INTO counters (name, value) SELECT name, sum(value) FROM parts GROUP BY name
