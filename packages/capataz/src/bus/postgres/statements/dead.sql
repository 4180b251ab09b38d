-- Dead letters of a name, oldest first. $1 durable name, $2 most of them
-- → position, reason, routing_key, headers, body
SELECT position, reason, routing_key, headers, body FROM entries
WHERE name = (SELECT id FROM names WHERE durable = $1) AND reason IS NOT NULL
ORDER BY position LIMIT $2
