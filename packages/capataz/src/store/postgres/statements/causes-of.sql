-- $1 job id
SELECT j.id, j.timers, j.lease_until, j.record, j.data, i.pinned
FROM jobs j JOIN inputs i ON i.id = j.id WHERE j.id = $1
