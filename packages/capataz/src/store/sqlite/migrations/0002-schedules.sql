-- What is remembered of schedules of jobs; `recent`: what became of their latest slots, as JSON.
CREATE TABLE schedules (
  name TEXT PRIMARY KEY,
  handled INTEGER NOT NULL,
  paused_at INTEGER,
  resumed_at INTEGER,
  changed_by TEXT,
  recent TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;
