-- $1 id, $2 who writes
WITH gone AS (DELETE FROM workers WHERE id = $1 RETURNING id)
SELECT tell_of_worker($2, id) FROM gone
