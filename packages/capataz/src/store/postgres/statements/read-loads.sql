-- How many attempts each worker holds.
SELECT worker, count(*) AS load FROM tasks WHERE worker IS NOT NULL GROUP BY worker
