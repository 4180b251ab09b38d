-- Jobs with a deadline that is over, earliest first, and the one whose deadline comes next.
-- $1 limit
(SELECT id, timers FROM jobs WHERE due_at <= stamp() ORDER BY due_at, n LIMIT $1)
UNION ALL (SELECT id, timers FROM jobs WHERE due_at > stamp() ORDER BY due_at LIMIT 1)
