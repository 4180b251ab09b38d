-- Open jobs, newest id first. The conditions of the query are put in the place of TRUE, and the
-- limit in that of 1.
SELECT j.id, j.record, j.data, i.pinned
FROM jobs j JOIN inputs i ON i.id = j.id
WHERE TRUE
ORDER BY j.id DESC LIMIT 1
