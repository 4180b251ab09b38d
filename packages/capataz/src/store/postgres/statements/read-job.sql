-- A job, hot or ended. One snapshot: it is in one of the two.
-- $1 id
SELECT j.record, j.data, i.pinned FROM jobs j JOIN inputs i ON i.id = j.id WHERE j.id = $1
UNION ALL
SELECT e.record, e.data, i.pinned FROM ended_jobs e JOIN inputs i ON i.id = e.id WHERE e.id = $1
