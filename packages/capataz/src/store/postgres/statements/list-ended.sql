-- Ended jobs, newest id first. The conditions of the query are put in the place of TRUE, and the
-- limit in that of 1.
SELECT e.id, e.record, e.data, i.pinned
FROM ended_jobs e JOIN inputs i ON i.id = e.id
WHERE TRUE
ORDER BY e.id DESC LIMIT 1
