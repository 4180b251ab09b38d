-- A new task; the rowid is its arrival.
-- ?1 job, ?2 id, ?3 class, ?4 rank, ?5 queued, ?6 delayed, ?7 bound, ?8 execution limit, ?9 timers, ?10 due, ?11 spec
INSERT INTO tasks (job, id, class, rank, status, queued, delayed, bound, attempts, failures, lost_runs,
  execution_limit_ms, timers, due_at, spec)
VALUES (?1, ?2, ?3, ?4, 'PENDING', ?5, ?6, ?7, 0, 0, 0, ?8, ?9, ?10, ?11)
