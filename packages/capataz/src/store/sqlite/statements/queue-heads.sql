-- The first queued tasks of a class behind a place in it, with all that their hand-out needs.
-- ?1 class, ?2 rank and ?3 number of the place, ?4 whether suspects count, ?5 limit
SELECT n, rank, lost_runs, timers, execution_limit_ms, id, job,
  (SELECT jobs.id FROM jobs WHERE jobs.n = tasks.job) AS job_id, bound, attempts, failures, spec
FROM tasks
WHERE class = ?1 AND queued = 1 AND (rank, n) > (?2, ?3) AND (lost_runs = 0 OR ?4)
ORDER BY rank, n LIMIT ?5
