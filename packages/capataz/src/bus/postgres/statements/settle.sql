-- Forgets what a consumer has acknowledged, if it still holds it.
-- $1 name, $2 consumer, $3 positions
WITH settled AS (
  DELETE FROM entries WHERE position = ANY ($3::bigint[]) AND held_by = $2 RETURNING position
)
UPDATE names SET length = length - (SELECT count(*) FROM settled)
WHERE id = $1 AND EXISTS (SELECT FROM settled)
