-- $1 durable name
-- → id
SELECT id FROM names WHERE durable = $1
