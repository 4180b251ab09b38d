-- A new job.
-- ?1 number, ?2 lease end, ?3 timers, ?4 due, ?5 beside, then what the job is in the order of the columns
INSERT INTO jobs (n, lease_until, timers, due_at, beside, id, version, client, blueprint, blueprint_version,
  status, state, entry, hops, failures, held, runnable, lease_token, created_at, entered_at, rest, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
