-- breaking: yes
-- Hot tables hold only what is still to be done; rows leave them. Instants are ms since 1970 UTC,
-- truth is 0 or 1, JSON is text. `n` is a job's number here, in the order of arrival.

-- What never changes of a job, written once, so that no step of the job writes it again.
CREATE TABLE inputs (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  client TEXT NOT NULL,
  correlation TEXT NOT NULL,
  input TEXT NOT NULL,
  fixed TEXT NOT NULL                       -- {options, trace, parent}
) STRICT;
CREATE INDEX inputs_by_correlation ON inputs (correlation);

-- Open and quarantined jobs.
CREATE TABLE jobs (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  client TEXT NOT NULL,
  blueprint TEXT NOT NULL,
  blueprint_version INTEGER NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  entry INTEGER NOT NULL,
  hops INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  held INTEGER NOT NULL,
  runnable INTEGER NOT NULL,
  lease_token TEXT,
  lease_until INTEGER,
  timers TEXT NOT NULL,                     -- {name: instant}
  due_at INTEGER,                           -- the earliest of them
  beside INTEGER NOT NULL,                  -- which other tables may know the job: a bit each (beside.ts)
  created_at INTEGER NOT NULL,
  entered_at INTEGER NOT NULL,
  rest TEXT NOT NULL,                       -- {wait, lease, resume, result, error, results?, answer?, decided?}
  data TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_runnable ON jobs (blueprint, blueprint_version, n) WHERE runnable = 1;
CREATE INDEX jobs_by_blueprint ON jobs (blueprint, blueprint_version, n) WHERE status <> 'quarantined';
CREATE INDEX jobs_quarantined ON jobs (id) WHERE status = 'quarantined';
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE lease_until IS NOT NULL;

-- Ended jobs: one immutable row each.
CREATE TABLE ended_jobs (
  ordinal INTEGER PRIMARY KEY,              -- in the order of their ends, in which they are forgotten
  n INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  client TEXT NOT NULL,
  blueprint TEXT NOT NULL,
  blueprint_version INTEGER NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  entry INTEGER NOT NULL,
  hops INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  held INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  entered_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  rest TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX ended_jobs_by_client ON ended_jobs (client, id);
CREATE INDEX ended_jobs_unfinished ON ended_jobs (status, id) WHERE status <> 'finished';

-- What a task asks of a worker. Tasks queue by class.
CREATE TABLE classes (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  class TEXT NOT NULL                       -- {key, client, skill, requirements, maxCost}
) STRICT;

-- Open tasks. `n` is the arrival, which a task keeps for life.
CREATE TABLE tasks (
  n INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  id TEXT NOT NULL,
  class INTEGER NOT NULL,
  rank INTEGER NOT NULL,                    -- the priority, negated
  status TEXT NOT NULL,
  queued INTEGER NOT NULL,
  delayed INTEGER NOT NULL,                 -- it has a ready timer
  bound INTEGER NOT NULL,                   -- its requirements name a worker
  attempts INTEGER NOT NULL,
  attempt_id TEXT,
  worker TEXT,
  incarnation TEXT,
  assigned_at INTEGER,
  hand_out INTEGER,                         -- counts hand-outs of all tasks
  failures INTEGER NOT NULL,
  lost_runs INTEGER NOT NULL,
  execution_limit_ms INTEGER NOT NULL,
  timers TEXT NOT NULL,
  due_at INTEGER,
  spec TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_by_job ON tasks (job, id);
CREATE INDEX tasks_idle ON tasks (job) WHERE status <> 'PENDING' AND due_at IS NULL;
CREATE INDEX tasks_queue ON tasks (class, rank, n, lost_runs) WHERE queued = 1;
CREATE INDEX tasks_held ON tasks (worker, hand_out) WHERE worker IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;

-- Append-only. One row for each commit of a job; `seq` is that of its last entry.
CREATE TABLE history (
  position INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  entries TEXT NOT NULL,
  UNIQUE (job, seq)
) STRICT;

CREATE TABLE idempotency (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  job_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,              -- in force until then, and while its job is open
  look_at INTEGER NOT NULL,                 -- when the sweep looks at it next
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_sweep ON idempotency (look_at);

CREATE TABLE reservations (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  job INTEGER,                              -- null: settled, it stays until it expires
  amount REAL NOT NULL,
  expires_at INTEGER,
  until_wait INTEGER NOT NULL               -- given back when the job's wait ends
) STRICT;
CREATE INDEX reservations_by_key ON reservations (key, expires_at);
CREATE INDEX reservations_by_job ON reservations (job) WHERE job IS NOT NULL;
CREATE INDEX reservations_settled ON reservations (expires_at) WHERE job IS NULL;

-- Who waits for a share of a key; the first to have arrived is the first to be served.
CREATE TABLE waiters (
  place INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  job INTEGER NOT NULL
) STRICT;
CREATE INDEX waiters_by_key ON waiters (key, place);
CREATE INDEX waiters_by_job ON waiters (job);

-- What was left for a job, in the order of arrival.
CREATE TABLE inbox (
  n INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  expires_at INTEGER
) STRICT;
CREATE INDEX inbox_by_job ON inbox (job, id);

-- Signals that a job has taken.
CREATE TABLE seen (
  job INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (job, id)
) STRICT, WITHOUT ROWID;

-- Correlation keys under which open jobs get signals.
CREATE TABLE addresses (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (client, key, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX addresses_by_job ON addresses (job);

-- Signals to keys that nobody has registered yet.
CREATE TABLE letters (
  n INTEGER PRIMARY KEY,
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (client, key, id)
) STRICT;
CREATE INDEX letters_sweep ON letters (expires_at);

-- What the steps of a job's present stay in its state have given.
CREATE TABLE memos (
  job INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (job, name)
) STRICT;

-- Attributes of all jobs, for lists that ask for them. Values are canonical JSON. They are found by
-- the job's own id, so that a list walks them in its order.
CREATE TABLE attributes (
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  job_id TEXT NOT NULL,
  PRIMARY KEY (name, value, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attributes_by_job ON attributes (job_id);

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  worker TEXT NOT NULL,
  last_seen_at INTEGER NOT NULL,
  silent_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX workers_silence ON workers (silent_at);

CREATE TABLE blueprints (
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  graph TEXT NOT NULL,
  offered_at INTEGER NOT NULL,
  PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- Ended jobs by status (`ended:finished`, …), entries that were lost (`lost_entries`), and two
-- marks below which nothing new may fall: `time` and `position`.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events on their way to the bus, in the order of the commits. `aggregate_id` is the job's id.
CREATE TABLE outbox_events (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  aggregate_id TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  metadata TEXT NOT NULL,                   -- {client, exchange, sequence, correlationId, trace}
  created_at INTEGER NOT NULL,
  retry_count INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  next_attempt_at INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_events_by_aggregate ON outbox_events (aggregate_id, n);

-- Events that nobody would take, with the columns of the lifecycle seed.
CREATE TABLE outbox_dlq (
  id INTEGER PRIMARY KEY,
  original_event_id TEXT NOT NULL UNIQUE,
  aggregate_id TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  metadata TEXT,
  error_message TEXT NOT NULL,
  retry_count INTEGER NOT NULL DEFAULT 0,
  original_created_at INTEGER NOT NULL,
  moved_at INTEGER NOT NULL,
  resolved_at INTEGER,
  resolved_by TEXT,
  resolution_notes TEXT
) STRICT;
CREATE INDEX outbox_dlq_moved_at ON outbox_dlq (moved_at);
CREATE INDEX outbox_dlq_event_type ON outbox_dlq (event_type);
CREATE INDEX outbox_dlq_resolved_at ON outbox_dlq (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX outbox_dlq_unresolved ON outbox_dlq (id) WHERE resolved_at IS NULL;
