-- A step of an open job.
-- ?1 number, ?2 lease end, ?3 timers, ?4 due, then what the job is in the order of the columns
UPDATE jobs SET lease_until = ?2, timers = ?3, due_at = ?4, version = ?5, status = ?6, state = ?7, entry = ?8,
  hops = ?9, failures = ?10, held = ?11, runnable = ?12, lease_token = ?13, entered_at = ?14, rest = ?15,
  data = ?16
WHERE n = ?1
