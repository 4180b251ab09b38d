-- New tasks, in the order of their arrival.
-- $1 JSON rows
INSERT INTO tasks (job, id, class, rank, status, queued, attempts, attempt_id, worker, incarnation, assigned_at,
  hand_out, failures, lost_runs, timers, due_at, spec)
SELECT job, id, class, rank, status, queued, attempts, attempt_id, worker, incarnation, assigned_at,
  hand_out, failures, lost_runs, timers, due_at, spec
FROM json_to_recordset($1::json) AS r (job text, id text, class text, rank integer, status text, queued boolean,
  attempts integer, attempt_id text, worker text, incarnation text, assigned_at bigint, hand_out bigint,
  failures integer, lost_runs integer, timers text, due_at bigint, spec text)
