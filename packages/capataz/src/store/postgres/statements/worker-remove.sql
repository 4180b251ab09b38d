-- $1 id, $2 incarnation, $3 who writes
WITH gone AS (
  DELETE FROM workers WHERE id = $1 AND worker::json ->> 'incarnation' = $2 RETURNING id)
SELECT tell_of_worker($3, id) FROM gone
