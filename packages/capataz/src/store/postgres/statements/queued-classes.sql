-- Classes with queued tasks: the index is read by leaps, whatever the backlog.
WITH RECURSIVE queued (class) AS (
  (SELECT class FROM tasks WHERE queued ORDER BY class LIMIT 1)
  UNION ALL
  SELECT (SELECT t.class FROM tasks t WHERE t.queued AND t.class > q.class ORDER BY t.class LIMIT 1)
  FROM queued q WHERE q.class IS NOT NULL)
SELECT c.class FROM queued q JOIN classes c ON c.id = q.class
