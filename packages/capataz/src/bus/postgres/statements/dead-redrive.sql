-- Brings a dead letter back, behind all that waits. $1 position
WITH back AS (
  UPDATE entries SET reason = NULL, deliveries = 0, position = DEFAULT
  WHERE position = $1 AND reason IS NOT NULL
  RETURNING name
)
UPDATE names SET length = length + 1 FROM back WHERE names.id = back.name
RETURNING pg_notify(current_schema(), names.id::text)
