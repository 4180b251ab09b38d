import type { Job, TaskSpec } from '../../core/job.ts';
import { taskClass } from '../../core/requirements.ts';
import { canonicalJson } from '../../std/json.ts';
import { columnsOf, type RecordKind, type RecordOf } from '../chest.ts';
import { type Deadlines, earliest } from '../rules.ts';
import { beside } from './beside.ts';
import { jobRow, pinnedTexts, restText, waitKeyOf } from './encode.ts';
import { type JobRow, jobOf } from './rows.ts';
import type { Statements } from './statements.ts';

export type Row = Readonly<Record<string, string | number | null>>;

/** Where records of a kind lie in this store. */
export interface Shelf<K extends RecordKind> {
  /** What is counted. */
  readonly from: string;
  /** All of them in their order, with the columns of the record where `recordOf` is missing. */
  readonly read: string;
  readonly recordOf?: (row: Row) => RecordOf<K>;
  readonly write: (statements: Statements, record: RecordOf<K>) => void;
}

export type Shelves = { readonly [K in RecordKind]: Shelf<K> };

const jobNumber =
  'coalesce((SELECT n FROM jobs WHERE id = :job), (SELECT n FROM ended_jobs WHERE id = :job))';

/** Tables that name the job by its id: their rows may outlive it. */
const byId: readonly string[] = ['idempotency', 'archived_books'];

/** A table whose columns are those of the record, but for the job, which is a number elsewhere. */
function plain<K extends RecordKind>(kind: K, table: string, order: string): Shelf<K> {
  const names = columnsOf(kind).map(([name]) => name);
  const isNumbered = names.includes('job') && !byId.includes(table);
  const values = names.map((name) => (isNumbered && name === 'job' ? jobNumber : `:${name}`));
  const insert = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values.join(', ')})`;
  const columns = names.map((name) => (isNumbered && name === 'job' ? 'i.id AS job' : `t.${name}`));
  const join = isNumbered ? 'LEFT JOIN inputs i ON i.n = t.job' : '';
  return {
    from: table,
    read: `SELECT ${columns.join(', ')} FROM ${table} t ${join} ORDER BY ${order}`,
    write: (statements, record) => statements.runOf(insert, boundOf(record)),
  };
}

/** The database has no booleans. */
export function boundOf(record: Readonly<Record<string, unknown>>): Row {
  const bound: Record<string, string | number | null> = {};
  for (const [name, value] of Object.entries(record)) {
    // Members of a record are nothing else.
    bound[name] = typeof value === 'boolean' ? Number(value) : (value as string | number | null);
  }
  return bound;
}

const endedJobs: Shelf<'ended_job'> = {
  from: 'ended_jobs',
  read: `SELECT e.*, i.correlation, i.input, i.fixed FROM ended_jobs e
    LEFT JOIN inputs i ON i.n = e.n ORDER BY e.ordinal`,
  recordOf: (row) => ({ job: jobText(row) }),
  write: (statements, record) => {
    const job = JSON.parse(record.job) as Job;
    const n = putPinned(statements, job);
    statements.run('ended-insert', n, ...jobRow(job, true), restText(job), canonicalJson(job.data));
  },
};

const openJobs: Shelf<'open_job'> = {
  from: 'jobs',
  read: `SELECT j.*, NULL AS ended_at, i.correlation, i.input, i.fixed, w.place,
      (SELECT coalesce(max(h.seq), 0) FROM history h WHERE h.job = j.n) AS last_seq
    FROM jobs j LEFT JOIN inputs i ON i.n = j.n LEFT JOIN waiters w ON w.job = j.n ORDER BY j.n`,
  recordOf: (row) => ({
    job: jobText(row),
    timers: String(row.timers),
    lease_until: numberOf(row.lease_until),
    place: numberOf(row.place),
    last_seq: Number(row.last_seq),
  }),
  write: (statements, { job: text, timers, lease_until, place }) => {
    const job = JSON.parse(text) as Job;
    const n = putPinned(statements, job);
    const dueAt = earliest(JSON.parse(timers) as Deadlines);
    // Any other table may know it: what a job has is found out with its next steps.
    const bits = Object.values(beside).reduce((all, bit) => all | bit, 0);
    const texts = [restText(job), canonicalJson(job.data)];
    statements.run(
      'job-insert',
      n,
      lease_until,
      timers,
      dueAt,
      bits,
      ...jobRow(job, true),
      ...texts,
    );
    const key = waitKeyOf(job.wait);
    if (key !== null && place !== null) {
      statements.runOf('INSERT INTO waiters VALUES (:place, :key, :n)', { place, key, n });
    }
  },
};

/** A row of either table of jobs, with what is pinned. */
function jobText(row: Row): string {
  return canonicalJson(jobOf(row as unknown as JobRow));
}

function numberOf(value: string | number | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function putPinned(statements: Statements, job: Job): number {
  const { id, client, correlationId, options } = job;
  const { input, fixed } = pinnedTexts(job);
  const { rowid } = statements.run('input-insert', id, client, correlationId, input, fixed);
  for (const [name, value] of Object.entries(options.attributes)) {
    statements.run('attribute-insert', name, canonicalJson(value), id);
  }
  return rowid;
}

const taskInsert = `INSERT INTO tasks (job, id, class, rank, status, queued, delayed, bound, attempts,
    attempt_id, worker, incarnation, assigned_at, hand_out, failures, lost_runs, execution_limit_ms,
    timers, due_at, spec)
  VALUES (${jobNumber}, :id, :class, :rank, :status, :queued, :delayed, :bound, :attempts,
    :attempt_id, :worker, :incarnation, :assigned_at, :hand_out, :failures, :lost_runs,
    :execution_limit_ms, :timers, :due_at, :spec)`;

const tasks: Shelf<'task'> = {
  ...plain('task', 'tasks', 't.n'),
  write: (statements, record) => {
    const spec = JSON.parse(record.spec) as TaskSpec;
    const deadlines = JSON.parse(record.timers) as Deadlines;
    const ofClass = taskClass(spec);
    const { id } = statements.one<{ id: number }>(
      'class-save',
      ofClass.key,
      JSON.stringify(ofClass),
    );
    statements.runOf(taskInsert, {
      ...boundOf(record),
      class: id,
      rank: -spec.priority,
      delayed: Number(deadlines.ready !== undefined),
      bound: Number(spec.requirements.worker !== undefined),
      execution_limit_ms: spec.executionLimitMs,
      due_at: earliest(deadlines),
    });
  },
};

const marks: Shelf<'mark'> = {
  from: "(SELECT 'moved' UNION ALL SELECT 'position' UNION ALL SELECT 'time')",
  read: `SELECT 'moved' AS name, coalesce((SELECT value FROM counters WHERE name = 'moved'), 0) AS value
    UNION ALL SELECT 'position', max(
      coalesce((SELECT value FROM counters WHERE name = 'position'), 0),
      coalesce((SELECT max(position) FROM history), 0))
    UNION ALL SELECT 'time', max(
      coalesce((SELECT value FROM counters WHERE name = 'time'), 0),
      coalesce((SELECT at FROM history ORDER BY position DESC LIMIT 1), 0))`,
  write: (statements, { name, value }) => void statements.run('mark-raise', name, value),
};

/** Texts of the same value are the same text, whoever wrote them. */
function withCanonical<K extends 'outbox_event' | 'dead_letter'>(shelf: Shelf<K>): Shelf<K> {
  return {
    ...shelf,
    recordOf: (row) =>
      ({
        ...row,
        payload: canonicalText(row.payload),
        metadata: canonicalText(row.metadata),
      }) as unknown as RecordOf<K>,
  };
}

function canonicalText(json: string | number | null | undefined): string | null {
  return typeof json === 'string' ? canonicalJson(JSON.parse(json)) : null;
}

const counters = "counters WHERE name NOT IN ('time', 'position', 'moved') AND value <> 0";

export const shelves: Shelves = {
  blueprint: plain('blueprint', 'blueprints', 'name, version'),
  worker: plain('worker', 'workers', 'id'),
  ended_job: endedJobs,
  open_job: openJobs,
  task: tasks,
  idempotency_key: {
    ...plain('idempotency_key', 'idempotency', 'client, key'),
    read: `SELECT client, key, body_hash, job_id AS job, expires_at, look_at FROM idempotency
      ORDER BY client, key`,
    write: (statements, record) =>
      statements.runOf(
        'INSERT INTO idempotency VALUES (:client, :key, :body_hash, :job, :expires_at, :look_at)',
        boundOf(record),
      ),
  },
  share: plain('share', 'reservations', 't.id'),
  inbox_item: plain('inbox_item', 'inbox', 't.n'),
  seen_signal: plain('seen_signal', 'seen', 'i.id, t.id'),
  address: plain('address', 'addresses', 't.client, t.key, i.id'),
  letter: plain('letter', 'letters', 't.n'),
  memo: plain('memo', 'memos', 'i.id, t.name'),
  outbox_event: withCanonical(plain('outbox_event', 'outbox_events', 't.n')),
  dead_letter: withCanonical(plain('dead_letter', 'outbox_dlq', 't.id')),
  schedule: plain('schedule', 'schedules', 'name'),
  history: plain('history', 'history', 't.position'),
  archived_book: plain('archived_book', 'archived_books', 'job'),
  counter: {
    ...plain('counter', 'counters', 'name'),
    from: counters,
    read: `SELECT name, value FROM ${counters} ORDER BY name`,
  },
  mark: marks,
};
