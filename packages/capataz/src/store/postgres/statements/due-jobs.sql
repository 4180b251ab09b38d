-- Jobs with deadlines, earliest first.
-- $1 limit
SELECT id, timers FROM jobs WHERE due_at IS NOT NULL ORDER BY due_at, n LIMIT $1
