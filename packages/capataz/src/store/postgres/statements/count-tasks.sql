SELECT status, count(*) AS count, count(*) FILTER (WHERE queued) AS queued FROM tasks GROUP BY status
