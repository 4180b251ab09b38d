-- Locks the first queued tasks of classes, each after its job, passing over what others have locked: so no
-- task stays locked whose job is another's.
-- Tasks that the commit itself speaks of are read already, and may leave the queue with it.
-- $1 classes, $2 how many of each, $3 how many suspects of each, $4 and $5 job ids and task ids of those that
-- are read, $6 ids of jobs of which all are
SELECT h.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS c (class, count, suspects)
CROSS JOIN LATERAL (
  SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation, t.assigned_at,
    t.hand_out, t.failures, t.lost_runs, t.timers, t.spec,
    j.n AS job_n, j.version, j.client, j.correlation, j.status AS job_status, j.lease_until AS job_lease_until,
    j.timers AS job_timers, j.wait_key, j.place, j.last_seq
  FROM tasks t JOIN jobs j ON j.id = t.job
  WHERE t.class = c.class AND t.queued AND t.lost_runs = 0 AND t.job NOT IN (SELECT unnest($6::text[]))
    AND (t.job, t.id) NOT IN (SELECT * FROM unnest($4::text[], $5::text[]))
  ORDER BY t.rank, t.n LIMIT c.count FOR UPDATE OF j SKIP LOCKED FOR UPDATE OF t SKIP LOCKED) h
UNION ALL
SELECT h.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS c (class, count, suspects)
CROSS JOIN LATERAL (
  SELECT t.job, t.id, t.n, t.class, t.status, t.queued, t.attempts, t.attempt_id, t.worker, t.incarnation, t.assigned_at,
    t.hand_out, t.failures, t.lost_runs, t.timers, t.spec,
    j.n AS job_n, j.version, j.client, j.correlation, j.status AS job_status, j.lease_until AS job_lease_until,
    j.timers AS job_timers, j.wait_key, j.place, j.last_seq
  FROM tasks t JOIN jobs j ON j.id = t.job
  WHERE t.class = c.class AND t.queued AND t.lost_runs > 0 AND t.job NOT IN (SELECT unnest($6::text[]))
    AND (t.job, t.id) NOT IN (SELECT * FROM unnest($4::text[], $5::text[]))
  ORDER BY t.rank, t.n LIMIT c.suspects FOR UPDATE OF j SKIP LOCKED FOR UPDATE OF t SKIP LOCKED) h
