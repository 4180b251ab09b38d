SELECT status, count(*) AS count, sum(queued) AS queued FROM tasks GROUP BY status
