-- breaking: yes
-- Hot tables hold only what is still to be done; rows leave them. Instants are ms since 1970 UTC, JSON
-- is text: jsonb has no U+0000 and costs a parse a row. The outbox has the lifecycle seed's types.

-- What never changes of a job, written once, so that no step of the job writes it again.
CREATE TABLE inputs (
  id text COLLATE "C" PRIMARY KEY,
  client text NOT NULL,
  correlation text NOT NULL,
  pinned text NOT NULL                      -- {input, options, trace, parent}
);
-- The beginning is enough, and ours begin with their time: the index grows at its end.
CREATE INDEX inputs_by_correlation ON inputs (left(correlation, 100) COLLATE "C");

-- Open and quarantined jobs.
CREATE TABLE jobs (
  id text COLLATE "C" PRIMARY KEY,
  n bigint NOT NULL GENERATED ALWAYS AS IDENTITY,  -- the arrival
  version bigint NOT NULL,
  client text NOT NULL,
  correlation text NOT NULL,
  blueprint text NOT NULL,
  blueprint_version integer NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  held boolean NOT NULL,
  runnable boolean NOT NULL,
  lease_token text,
  lease_until bigint,
  timers text NOT NULL,                     -- {name: instant}
  due_at bigint,                            -- the earliest of them
  wait_key text,                            -- the key for whose share it waits
  place bigint,                             -- in that line
  last_seq bigint NOT NULL,                 -- of its book
  created_at bigint NOT NULL,
  entered_at bigint NOT NULL,
  record text NOT NULL,                     -- the job without its data and what is pinned
  data text NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX jobs_runnable ON jobs (blueprint, blueprint_version, n) WHERE runnable;
CREATE INDEX jobs_by_blueprint ON jobs (blueprint, blueprint_version, n) WHERE status <> 'quarantined';
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (wait_key, place) WHERE wait_key IS NOT NULL;

-- Ended jobs: one immutable row each.
CREATE TABLE ended_jobs (
  id text COLLATE "C" PRIMARY KEY,
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,  -- in which they are forgotten
  client text NOT NULL,
  correlation text NOT NULL,
  blueprint text NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  error_code text,
  ended_at bigint NOT NULL,
  record text NOT NULL,
  data text NOT NULL
);
CREATE UNIQUE INDEX ended_jobs_in_order ON ended_jobs (ordinal);
CREATE INDEX ended_jobs_by_client ON ended_jobs (client, id);
CREATE INDEX ended_jobs_unfinished ON ended_jobs (status, id) WHERE status <> 'finished';

-- What a task asks of a worker. Tasks queue by class.
CREATE TABLE classes (
  id text COLLATE "C" PRIMARY KEY,          -- md5 of the key, which may be too long for an index
  class text NOT NULL                       -- {key, client, skill, requirements, maxCost}
);

-- Open tasks. `n` is the arrival, which a task keeps for life.
CREATE TABLE tasks (
  job text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  n bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  class text COLLATE "C" NOT NULL,
  rank integer NOT NULL,                    -- the priority, negated
  status text NOT NULL,
  queued boolean NOT NULL,
  attempts integer NOT NULL,
  attempt_id text,
  worker text,
  incarnation text,
  assigned_at bigint,
  hand_out bigint,                          -- counts hand-outs of all tasks
  failures integer NOT NULL,
  lost_runs integer NOT NULL,
  timers text NOT NULL,
  due_at bigint,
  spec text NOT NULL,
  PRIMARY KEY (job, id)
) WITH (fillfactor = 70);
CREATE SEQUENCE hand_outs INCREMENT 1000;   -- one for each commit that claims
CREATE INDEX tasks_idle ON tasks (job) WHERE NOT queued AND due_at IS NULL;
CREATE INDEX tasks_queue ON tasks (class, rank, n) WHERE queued;
CREATE INDEX tasks_suspect ON tasks (class, rank, n) WHERE queued AND lost_runs > 0;
CREATE INDEX tasks_held ON tasks (worker, hand_out) WHERE worker IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;

-- Append-only. One row for each commit of a job; `seq` is that of its last entry. Partitions are about a
-- day long and made ahead by `extend_history`; `(job, seq)` is unique, because a job is locked while its
-- book is written.
CREATE SEQUENCE positions;
CREATE TABLE history (
  position bigint PRIMARY KEY,
  job text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  count integer NOT NULL,
  entries text NOT NULL
) PARTITION BY RANGE (position);
CREATE INDEX history_of_job ON history (job, seq);
CREATE TABLE history_parts (
  first bigint PRIMARY KEY,
  past bigint NOT NULL                      -- the first position that is not in it any more
);

CREATE TABLE idempotency (
  client text NOT NULL,
  key text NOT NULL,
  body_hash text NOT NULL,
  job text NOT NULL,
  expires_at bigint NOT NULL,               -- in force until then, and while its job is open
  look_at bigint NOT NULL,                  -- when the sweep looks at it next
  PRIMARY KEY (client, key)
);
CREATE INDEX idempotency_sweep ON idempotency (look_at);

CREATE TABLE reservations (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  key text NOT NULL,
  job text COLLATE "C",                     -- null: settled, it stays until it expires
  amount double precision NOT NULL,
  expires_at bigint,
  until_wait boolean NOT NULL               -- given back when the job's wait ends
);
CREATE INDEX reservations_by_key ON reservations (key, expires_at);
CREATE INDEX reservations_by_job ON reservations (job) WHERE job IS NOT NULL;
CREATE INDEX reservations_settled ON reservations (expires_at) WHERE job IS NULL;
CREATE SEQUENCE places INCREMENT 1000;      -- one for each commit that lets jobs wait for shares

-- What was left for a job, in the order of arrival.
CREATE TABLE inbox (
  n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  job text COLLATE "C" NOT NULL,
  id text NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  expires_at bigint
);
CREATE INDEX inbox_by_job ON inbox (job, id);

-- Signals that a job has taken.
CREATE TABLE seen (
  job text COLLATE "C" NOT NULL,
  id text NOT NULL,
  PRIMARY KEY (job, id)
);

-- Correlation keys under which open jobs get signals; an address is [client, key] as JSON.
CREATE TABLE addresses (
  address text NOT NULL,
  job text COLLATE "C" NOT NULL,
  PRIMARY KEY (address, job)
);
CREATE INDEX addresses_by_job ON addresses (job);

-- Signals to keys that nobody has registered yet.
CREATE TABLE letters (
  n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  address text NOT NULL,
  signal text NOT NULL,                     -- the id under which it counts once
  id text NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX letters_by_address ON letters (address, id);
CREATE INDEX letters_sweep ON letters (expires_at);

-- What the steps of a job's present stay in its state have given.
CREATE TABLE memos (
  job text COLLATE "C" NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (job, name)
);

-- Attributes of all jobs, for lists that ask for them: md5 of the value as canonical JSON.
CREATE TABLE attributes (
  name text NOT NULL,
  value text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, value, job)
);
CREATE INDEX attributes_by_job ON attributes (job);

CREATE TABLE workers (
  id text COLLATE "C" PRIMARY KEY,
  worker text NOT NULL,
  last_seen_at bigint NOT NULL,
  silent_at bigint NOT NULL
);
CREATE INDEX workers_silence ON workers (silent_at);

CREATE TABLE blueprints (
  name text NOT NULL,
  version integer NOT NULL,
  graph text NOT NULL,
  offered_at bigint NOT NULL,
  PRIMARY KEY (name, version)
);

-- Sums in parts, so that no two commits wait for one row: ended jobs by status (`ended:finished`, …),
-- of them those that timed out (`timed_out`), entries that were lost (`lost_entries`).
CREATE TABLE counters (
  name text NOT NULL,
  value bigint NOT NULL
);

-- An instant below which no new one may fall.
CREATE TABLE marks (
  name text PRIMARY KEY,
  value bigint NOT NULL
);

-- Events on their way to the bus, in the order of the commits. `aggregate_id` is the job's id, which
-- callers may give, so that it is no uuid.
CREATE TABLE outbox_events (
  n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id varchar(255) NOT NULL UNIQUE,
  aggregate_id varchar(255) NOT NULL,
  aggregate_type varchar(50) NOT NULL,
  event_type varchar(255) NOT NULL,
  payload jsonb NOT NULL,
  metadata jsonb NOT NULL,                  -- {client, exchange, sequence, correlationId, trace}
  created_at timestamptz NOT NULL,
  retry_count integer NOT NULL DEFAULT 0,
  last_error text,
  next_attempt_at timestamptz NOT NULL,
  held_by text,                             -- the instance that publishes it, until `held_until`
  held_until bigint
);
CREATE INDEX outbox_events_by_aggregate ON outbox_events (aggregate_id, n);

-- Events that nobody would take, with the columns and types of the lifecycle seed.
CREATE TABLE outbox_dlq (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  n bigint NOT NULL GENERATED ALWAYS AS IDENTITY,  -- the order in which they were given up
  original_event_id varchar(255) NOT NULL UNIQUE,
  aggregate_id varchar(255) NOT NULL,
  aggregate_type varchar(50) NOT NULL,
  event_type varchar(255) NOT NULL,
  payload jsonb NOT NULL,
  metadata jsonb,
  error_message text NOT NULL,
  retry_count integer NOT NULL DEFAULT 0,
  original_created_at timestamptz NOT NULL,
  moved_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  resolved_by varchar(100),
  resolution_notes text
);
CREATE INDEX outbox_dlq_moved_at ON outbox_dlq (moved_at);
CREATE INDEX outbox_dlq_event_type ON outbox_dlq (event_type);
CREATE INDEX outbox_dlq_resolved_at ON outbox_dlq (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX outbox_dlq_unresolved ON outbox_dlq (n) WHERE resolved_at IS NULL;

-- What is remembered of schedules of jobs; `recent`: what became of their latest slots, as JSON.
CREATE TABLE schedules (
  name text COLLATE "C" PRIMARY KEY,
  handled bigint NOT NULL,
  paused_at bigint,
  resumed_at bigint,
  changed_by text,
  recent text NOT NULL DEFAULT '[]'
);
-- When the book was written last: of the rows near its end, so that old partitions are left alone.
CREATE FUNCTION latest_entry() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  last bigint;
BEGIN
  SELECT last_value INTO last FROM positions;
  RETURN (SELECT at FROM history WHERE position > last - 100000 ORDER BY position DESC LIMIT 1);
END
$$;

-- Sees to it that a whole partition lies ahead of the last position: as long as a day's rows at the rate of
-- the present one, within limits. Attaching one lets readers and writers go on; the default partition that
-- would catch what comes too early is left out, because it would have to be locked and searched each time.
-- Whoever finds no partition calls this and begins anew.
CREATE FUNCTION extend_history(smallest bigint, largest bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
  newest history_parts;
  began bigint;
  rows_a_day double precision;
  begin_at bigint;
  part text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext(current_schema()), 4097);
  SELECT last_value INTO last FROM positions;
  SELECT * INTO newest FROM history_parts ORDER BY first DESC LIMIT 1;
  IF newest.first > last THEN RETURN; END IF;
  SELECT at INTO began FROM history WHERE position >= newest.first ORDER BY position LIMIT 1;
  rows_a_day := (last - newest.first) * 86400000.0 / greatest(latest_entry() - began, 1);
  begin_at := greatest(newest.past, CASE WHEN newest.past <= last THEN last + 1 END, 1);
  part := 'history_' || begin_at;
  newest := ROW(begin_at, begin_at + least(greatest(coalesce(rows_a_day, 0), smallest), largest)::bigint);
  EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING ALL)', part);
  EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, newest.first, newest.past);
  INSERT INTO history_parts SELECT newest.*;
END
$$;

-- Drops the oldest partition where it lies behind all that is written now and nothing is left in it. The
-- lock stops readers and writers for a moment, so that it is given up where it is not to be had at once.
CREATE FUNCTION drop_empty_history() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  oldest history_parts;
  part text;
  is_used boolean;
BEGIN
  SELECT * INTO oldest FROM history_parts ORDER BY first LIMIT 1;
  IF oldest.past > visible_position() THEN RETURN false; END IF;
  part := 'history_' || oldest.first;
  EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part) INTO is_used;
  IF is_used THEN RETURN false; END IF;
  PERFORM set_config('lock_timeout', '100ms', true);
  LOCK TABLE ONLY history IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part);
  EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part) INTO is_used;
  IF is_used THEN RETURN false; END IF;
  DELETE FROM history_parts WHERE first = oldest.first;
  EXECUTE format('DROP TABLE %I', part);
  RETURN true;
EXCEPTION WHEN lock_not_available OR undefined_table THEN
  RETURN false;
END
$$;

-- The store's present instant: the server's, or the one that a test gives; never before the last one
-- that the book holds.
-- In PL/pgSQL, as the others that a commit calls: a function in SQL is parsed and planned with each call.
CREATE FUNCTION store_now(given bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN greatest(
    coalesce(given, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
    latest_entry(),
    (SELECT value FROM marks WHERE name = 'time'));
END
$$;

-- Tells the others, once the commit is visible, by `writer worker`; `writer` alone stands for a commit.
CREATE FUNCTION tell_of_worker(writer text, id text) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_notify(current_schema(), writer || ' ' || id)
$$;

CREATE FUNCTION instant(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT timestamptz 'epoch' + ms * interval '1 millisecond'
$$;

CREATE FUNCTION ms(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (extract(epoch FROM at) * 1000)::bigint
$$;

-- Who writes history holds a shared lock whose number is the last position before its own, from before
-- it takes one until its commit is visible (16 bits of the schema, 48 of the position). So readers know
-- where the oldest running writer is, whatever else runs on the server, and stop there (S-46).
CREATE FUNCTION fence_schema() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (hashtext(current_schema()) & 32767)::bigint
$$;

CREATE FUNCTION fence_history() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared((fence_schema() << 48) | last_value) FROM positions;
END
$$;

-- The position up to which nothing can become visible late. The sequence is read first: whoever took a
-- position up to there held its lock before, and has it still or is visible to the next statement.
CREATE FUNCTION visible_position() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
  writing bigint;
BEGIN
  SELECT last_value INTO last FROM positions;
  SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) INTO writing FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint >> 16 = fence_schema();
  RETURN least(last, writing);
END
$$;

-- Locks names that commits of several instances may speak of at once: shares by key, correlation
-- addresses. Always in the same order, and before any row. The keys that the jobs hold or wait for are
-- among them; the commit's later statements find all of them in the setting `capataz.keys`.
CREATE FUNCTION lock_keys(ids text[], keys text[], addresses text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  found text[];
BEGIN
  found := ARRAY(
    SELECT unnest(keys)
    UNION SELECT r.key FROM reservations r WHERE r.job = ANY (ids)
    UNION SELECT j.wait_key FROM jobs j WHERE j.id = ANY (ids) AND j.wait_key IS NOT NULL);
  PERFORM pg_advisory_xact_lock(hashtext(current_schema()), bucket) FROM (
    SELECT DISTINCT hashtext(name) & 4095 AS bucket FROM (
      SELECT 'share ' || unnest(found) UNION ALL SELECT 'address ' || unnest(addresses)) AS n (name)
    ORDER BY bucket) AS b;
  PERFORM set_config('capataz.keys', to_json(found)::text, true);
  RETURN found;
END
$$;

CREATE FUNCTION locked_keys() RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(SELECT json_array_elements_text(current_setting('capataz.keys')::json));
END
$$;

-- The instant that the running transaction stamps.
CREATE FUNCTION stamp() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT current_setting('capataz.at')::bigint
$$;

SELECT extend_history(1000000, 1000000);

-- The entrance of a transaction over a connection that a pooler lends, which has no session to hold the
-- lock in that keeps a move away; it looks at what a move has left each time.
CREATE FUNCTION enter_transaction(store text, occupancy integer) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext(store), occupancy);
  IF EXISTS (SELECT FROM moves) THEN
    RAISE EXCEPTION 'the store was moved' USING ERRCODE = 'CP001';
  END IF;
END
$$;
