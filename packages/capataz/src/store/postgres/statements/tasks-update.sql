-- Tasks that were handed out, started or queued again.
-- $1 JSON rows
UPDATE tasks SET status = r.status, queued = r.queued, attempts = r.attempts, attempt_id = r.attempt_id,
  worker = r.worker, incarnation = r.incarnation, assigned_at = r.assigned_at, hand_out = r.hand_out,
  failures = r.failures, lost_runs = r.lost_runs, timers = r.timers, due_at = r.due_at
FROM json_to_recordset($1::json) AS r (job text, id text, status text, queued boolean, attempts integer,
  attempt_id text, worker text, incarnation text, assigned_at bigint, hand_out bigint, failures integer,
  lost_runs integer, timers text, due_at bigint)
WHERE tasks.job = r.job AND tasks.id = r.id
