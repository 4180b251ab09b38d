-- Classes with queued tasks: the index is read by leaps, whatever the backlog.
WITH RECURSIVE queued (class) AS (
  SELECT min(class) FROM tasks WHERE queued = 1
  UNION ALL
  SELECT (SELECT min(class) FROM tasks WHERE queued = 1 AND class > queued.class)
  FROM queued WHERE queued.class IS NOT NULL)
SELECT c.class FROM queued JOIN classes c ON c.id = queued.class
