-- Back to PENDING, handed to nobody, at its old place.
-- ?1 number, ?2 queued, ?3 delayed, ?4 failures, ?5 lost runs, ?6 timers, ?7 due
UPDATE tasks SET status = 'PENDING', queued = ?2, delayed = ?3, attempt_id = NULL, worker = NULL,
  incarnation = NULL, assigned_at = NULL, hand_out = NULL, failures = ?4, lost_runs = ?5, timers = ?6,
  due_at = ?7
WHERE n = ?1
