SELECT status, count(*) AS count FROM jobs GROUP BY status
