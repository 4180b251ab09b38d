-- Classes with queued tasks, as one of them says: the index is read by leaps, whatever the backlog.
WITH RECURSIVE queued (class) AS (
  (SELECT class FROM tasks WHERE queued ORDER BY class LIMIT 1)
  UNION ALL
  SELECT (SELECT t.class FROM tasks t WHERE t.queued AND t.class > q.class ORDER BY t.class LIMIT 1)
  FROM queued q WHERE q.class IS NOT NULL)
SELECT first.class_key FROM queued q CROSS JOIN LATERAL (
  SELECT t.class_key FROM tasks t WHERE t.queued AND t.class = q.class ORDER BY t.rank, t.n LIMIT 1) first
