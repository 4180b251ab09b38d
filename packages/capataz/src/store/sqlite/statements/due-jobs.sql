-- Jobs with a deadline that is over, earliest first, and the one whose deadline comes next.
-- ?1 now, ?2 limit
SELECT * FROM (SELECT id, timers FROM jobs WHERE due_at <= ?1 ORDER BY due_at, n LIMIT ?2)
UNION ALL SELECT * FROM (SELECT id, timers FROM jobs WHERE due_at > ?1 ORDER BY due_at LIMIT 1)
