-- How many tasks are queued in classes, counted up to a limit, locked ones too.
-- $1 classes, $2 limits
SELECT q.class, q.size, q.size = q.most AS is_cut FROM (
  SELECT c.class, c.most, (SELECT count(*) FROM (
    SELECT 1 FROM tasks t WHERE t.class = c.class AND t.queued LIMIT c.most) x) AS size
  FROM unnest($1::text[], $2::bigint[]) AS c (class, most)) AS q
