-- Makes a dead letter of what a consumer holds. $1 name, $2 consumer, $3 position, $4 why
WITH buried AS (
  UPDATE entries SET held_by = NULL, reason = $4 WHERE position = $3 AND held_by = $2
  RETURNING position
)
UPDATE names SET length = length - 1 WHERE id = $1 AND EXISTS (SELECT FROM buried)
