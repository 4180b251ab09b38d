-- What a worker holds, in the order of hand-out.
-- $1 worker
SELECT * FROM tasks WHERE worker = $1 ORDER BY hand_out
