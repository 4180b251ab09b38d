-- $1 durable name, $2 exchange, $3 patterns
INSERT INTO bindings (name, exchange, pattern)
SELECT DISTINCT names.id, $2::text, pattern
FROM names, unnest($3::text[]) AS pattern
WHERE durable = $1 AND NOT EXISTS (
  SELECT FROM bindings AS known
  WHERE known.name = names.id AND known.exchange = $2::text AND known.pattern = pattern
)
