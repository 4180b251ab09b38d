-- Attempts in a status for longer than a time, oldest first: the index holds only what is handed out.
-- $1 the instant of a test or null, $2 status, $3 older than, $4 limit
SELECT job, id, attempt_id FROM tasks
WHERE worker IS NOT NULL AND status = $2 AND assigned_at <= (SELECT store_now($1)) - $3::bigint
ORDER BY assigned_at, hand_out LIMIT $4
