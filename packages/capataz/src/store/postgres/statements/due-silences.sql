-- Workers whose silence is over, earliest end first, and the one that comes next.
-- $1 limit
(SELECT id, silent_at FROM workers WHERE silent_at <= stamp() ORDER BY silent_at, id LIMIT $1)
UNION ALL (SELECT id, silent_at FROM workers WHERE silent_at > stamp() ORDER BY silent_at LIMIT 1)
