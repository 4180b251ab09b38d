-- Hands a queued task to a worker. Returns nothing: RETURNING costs a third of the statement.
-- ?1 number, ?2 status, ?3 attempt, ?4 worker, ?5 incarnation, ?6 at, ?7 hand-out number, ?8 timers, ?9 due
UPDATE tasks SET status = ?2, queued = 0, attempts = attempts + 1, attempt_id = ?3, worker = ?4,
  incarnation = ?5, assigned_at = ?6, hand_out = ?7, timers = ?8, due_at = ?9
WHERE n = ?1
