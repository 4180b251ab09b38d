-- Jobs that have not ended, as core/phase.ts tells their phases, with the earliest beginning of each:
-- the hand-out of its task, else when the state was entered.
SELECT phase, count(*) AS count, min(since) AS since FROM (
  SELECT
    CASE
      WHEN j.status = 'quarantined' THEN 'FAILED'
      WHEN t.status IS NOT NULL THEN t.status
      WHEN j.lease_token IS NOT NULL THEN 'RUNNING'
      WHEN EXISTS (SELECT 1 FROM tasks b WHERE b.job = j.id AND b.attempt_id IS NOT NULL) THEN 'RUNNING'
      ELSE 'WAITING'
    END AS phase,
    coalesce(t.assigned_at, j.entered_at) AS since
  FROM jobs j LEFT JOIN tasks t ON j.status = 'waiting_for_worker' AND t.job = j.id
    AND t.id = j.record::json -> 'wait' ->> 'taskId'
) AS p GROUP BY phase
