-- A step of an open job.
-- ?1 number, ?2 lease end, ?3 timers, ?4 due, ?5 beside, then what the job is in the order of the columns
UPDATE jobs SET lease_until = ?2, timers = ?3, due_at = ?4, beside = ?5, version = ?6, status = ?7, state = ?8,
  entry = ?9, hops = ?10, failures = ?11, held = ?12, runnable = ?13, lease_token = ?14, entered_at = ?15,
  rest = ?16, data = ?17
WHERE n = ?1
