-- Workers whose silence is over, earliest end first, and the one that comes next.
-- ?1 now, ?2 limit
SELECT * FROM (SELECT id, silent_at FROM workers WHERE silent_at <= ?1 ORDER BY silent_at LIMIT ?2)
UNION ALL SELECT * FROM (SELECT id, silent_at FROM workers WHERE silent_at > ?1 ORDER BY silent_at LIMIT 1)
