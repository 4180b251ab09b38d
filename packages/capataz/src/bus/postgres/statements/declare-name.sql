-- $1 durable name, $2 most deliveries, $3 most entries: those of the first declaration count
INSERT INTO names (durable, max_deliveries, max_length)
SELECT $1::text, $2::integer, $3::bigint
WHERE NOT EXISTS (SELECT FROM names WHERE durable = $1::text)
