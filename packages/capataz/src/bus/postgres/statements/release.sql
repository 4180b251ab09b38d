-- Gives back what a consumer holds, to its place in the order.
-- $1 name, $2 consumer, $3 positions
WITH released AS (
  UPDATE entries SET held_by = NULL WHERE position = ANY ($3::bigint[]) AND held_by = $2
  RETURNING position
)
SELECT pg_notify(current_schema(), $1::bigint::text) WHERE EXISTS (SELECT FROM released)
