import type { Job, TaskSpec } from '../../core/job.ts';
import { taskClass } from '../../core/requirements.ts';
import { canonicalJson } from '../../std/json.ts';
import type { RecordOf } from '../chest.ts';
import { waitKeyOf } from '../memory/shares.ts';
import { type Deadlines, earliest, isRunnable, signalIdOf } from '../rules.ts';
import { type JobRow, jobOf } from './rows.ts';
import {
  inserting,
  instants,
  named,
  plain,
  type Row,
  type Shelf,
  type Shelves,
  typesOf,
  withCanonical,
} from './shelf.ts';
import type { Session } from './statements.ts';
import { classId, pairKey } from './working-set.ts';

const endedJobs: Shelf<'ended_job'> = {
  from: 'ended_jobs',
  read: `SELECT e.record, e.data, i.pinned FROM ended_jobs e
    LEFT JOIN inputs i ON i.id = e.id ORDER BY e.ordinal`,
  recordOf: (row) => ({ job: jobText(row) }),
  write: async (session, records) => {
    const jobs = records.map(({ job }) => JSON.parse(job) as Job);
    await writePinned(session, jobs);
    await insertEnded(session, jobs.map(endedRow));
  },
};

const insertEnded = inserting('ended_jobs', {
  ...{ id: 'text', client: 'text', correlation: 'text', blueprint: 'text', status: 'text' },
  ...{ state: 'text', error_code: 'text', ended_at: 'bigint', record: 'text', data: 'text' },
});

function endedRow(job: Job) {
  const { id, client, blueprint, status, state, error, endedAt } = job;
  const { record, data } = jobTexts(job);
  return {
    ...{ id, client, blueprint, status, state, record, data },
    correlation: job.correlationId,
    error_code: error?.code ?? null,
    ended_at: endedAt,
  };
}

const openJobs: Shelf<'open_job'> = {
  from: 'jobs',
  read: `SELECT j.record, j.data, i.pinned, j.timers, j.lease_until, j.last_seq,
      CASE WHEN j.wait_key IS NOT NULL THEN j.place END AS place
    FROM jobs j LEFT JOIN inputs i ON i.id = j.id ORDER BY j.n`,
  recordOf: ({ timers, lease_until, place, last_seq, ...row }) =>
    // The columns of the statement.
    ({ job: jobText(row), timers, lease_until, place, last_seq }) as RecordOf<'open_job'>,
  write: async (session, records) => {
    const jobs = records.map(({ job }) => JSON.parse(job) as Job);
    await writePinned(session, jobs);
    const rows = records.map((record, index) => openRow(record, jobs[index]));
    await insertOpen(session, rows);
  },
};

const insertOpen = inserting('jobs', {
  ...{ id: 'text', version: 'bigint', client: 'text', correlation: 'text', blueprint: 'text' },
  ...{ blueprint_version: 'integer', status: 'text', state: 'text', held: 'boolean' },
  ...{ runnable: 'boolean', lease_token: 'text', lease_until: 'bigint', timers: 'text' },
  ...{ due_at: 'bigint', wait_key: 'text', place: 'bigint', last_seq: 'bigint' },
  ...{ created_at: 'bigint', entered_at: 'bigint', record: 'text', data: 'text' },
});

function openRow({ job: text, timers, ...times }: RecordOf<'open_job'>, known?: Job) {
  const job = known ?? (JSON.parse(text) as Job);
  const { id, version, client, blueprint, status, state, held } = job;
  const { record, data } = jobTexts(job);
  return {
    ...{ id, version, client, blueprint, status, state, held, timers, ...times, record, data },
    correlation: job.correlationId,
    blueprint_version: job.blueprintVersion,
    runnable: isRunnable(job),
    lease_token: job.lease?.token ?? null,
    due_at: earliest(JSON.parse(timers) as Deadlines),
    wait_key: waitKeyOf(job),
    created_at: job.createdAt,
    entered_at: job.enteredAt,
  };
}

/** As rows.ts reads it. */
function jobTexts({ data, input, options, trace, parent, ...record }: Job): JobRow {
  return {
    record: canonicalJson(record),
    data: canonicalJson(data),
    pinned: canonicalJson({ input, options, trace, parent }),
  };
}

function jobText(row: Row): string {
  return canonicalJson(jobOf(row as unknown as JobRow));
}

async function writePinned(session: Session, jobs: readonly Job[]): Promise<void> {
  await insertInputs(
    session,
    jobs.map((job) => ({
      id: job.id,
      client: job.client,
      correlation: job.correlationId,
      pinned: jobTexts(job).pinned,
    })),
  );
  await insertAttributes(
    session,
    jobs.flatMap(({ id, options }) =>
      Object.entries(options.attributes).map(([name, value]) => ({
        name,
        value: canonicalJson(value),
        job: id,
      })),
    ),
  );
}

const insertInputs = inserting('inputs', {
  ...{ id: 'text', client: 'text', correlation: 'text', pinned: 'text' },
});

const insertAttributes = inserting(
  'attributes',
  { name: 'text', value: 'text', job: 'text' },
  { value: 'md5(value)' },
);

const tasks: Shelf<'task'> = {
  ...plain('task', 'tasks', 'n', {
    reads: { hand_out: 'CASE WHEN attempt_id IS NOT NULL THEN hand_out END' },
  }),
  write: async (session, records) => {
    const rows = records.map((record) => {
      const spec = JSON.parse(record.spec) as TaskSpec;
      const { key } = taskClass(spec);
      const dueAt = earliest(JSON.parse(record.timers) as Deadlines);
      return {
        ...record,
        class: classId(key),
        class_key: key,
        rank: -spec.priority,
        due_at: dueAt,
      };
    });
    await insertTasks(session, rows);
  },
};

const insertTasks = inserting('tasks', {
  ...typesOf('task'),
  ...{ class: 'text', class_key: 'text', rank: 'integer', due_at: 'bigint' },
});

const addresses: Shelf<'address'> = {
  from: 'addresses',
  read: `SELECT address, job FROM addresses ORDER BY ${named('(address::json ->> 0)', '(address::json ->> 1)', 'job')}`,
  recordOf: ({ address, job }) => ({ ...namesIn(address), job: String(job) }),
  write: (session, records) =>
    inserting('addresses', { address: 'text', job: 'text' })(
      session,
      records.map(({ client, key, job }) => ({ address: pairKey(client, key), job })),
    ),
};

const letterTypes = {
  ...{ address: 'text', signal: 'text', id: 'text', kind: 'text', name: 'text', body: 'text' },
  expires_at: 'bigint',
};

const letters: Shelf<'letter'> = {
  from: 'letters',
  read: 'SELECT address, id, kind, name, body, expires_at FROM letters ORDER BY n',
  recordOf: ({ address, ...row }) => ({ ...namesIn(address), ...row }) as RecordOf<'letter'>,
  write: (session, records) =>
    inserting('letters', letterTypes)(
      session,
      records.map(({ client, key, ...row }) => ({
        ...row,
        address: pairKey(client, key),
        signal: signalIdOf(row.id),
      })),
    ),
};

function namesIn(address: unknown): { client: string; key: string } {
  const [client, key] = JSON.parse(String(address)) as [string, string];
  return { client, key };
}

const counters =
  'SELECT name, sum(value) AS value FROM counters GROUP BY name HAVING sum(value) <> 0';

const plainHistory = plain('history', 'history', 'position');

const history: Shelf<'history'> = {
  ...plainHistory,
  write: async (session, records) => {
    for (const run of runsOf(records)) {
      const before = (run[0]?.position ?? 1) - 1;
      // Partitions are made behind what the sequence has given, however far the positions jump.
      await session.allOf(setPosition, [before]);
      await session.allOf('SELECT extend_history($1, $1)', [partitionLength]);
      await plainHistory.write(session, run);
    }
  },
};

/** Of a partition that is made for what is moved: a run of a batch never reaches beyond it. */
const partitionLength = 10_000_000;
const longestGap = 1_000;

function runsOf(records: readonly RecordOf<'history'>[]): RecordOf<'history'>[][] {
  const runs: RecordOf<'history'>[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const record of records) {
    if (record.position - last > longestGap) runs.push([]);
    runs.at(-1)?.push(record);
    last = record.position;
  }
  return runs;
}

const marks: Shelf<'mark'> = {
  from: "(VALUES ('moved'), ('position'), ('time')) AS m",
  read: `SELECT 'moved' AS name, coalesce((SELECT value FROM marks WHERE name = 'moved'), 0) AS value
    UNION ALL SELECT 'position', CASE WHEN is_called THEN last_value ELSE 0 END FROM positions
    UNION ALL SELECT 'time', greatest(
      coalesce((SELECT value FROM marks WHERE name = 'time'), 0),
      coalesce((SELECT at FROM history ORDER BY position DESC LIMIT 1), 0))
    ORDER BY name`,
  write: async (session, records) => {
    for (const { name, value } of records) {
      if (name === 'position') await session.allOf(setPosition, [value]);
      else await session.all('mark-raise', name, value);
    }
  },
};

/** A value of 0 means that none was given so far. */
const setPosition = "SELECT setval('positions', greatest($1::bigint, 1), $1::bigint > 0)";

/** What is numbered by sequences goes on behind what was written. */
export const settling = [
  "SELECT setval('places', greatest(max(place), 1)) FROM jobs",
  "SELECT setval('hand_outs', greatest(max(hand_out), 1)) FROM tasks",
  'ANALYZE',
];

/** Every table that holds records, for a target that a broken move has left. */
export const tables = [
  ...['inputs', 'jobs', 'ended_jobs', 'tasks', 'history', 'idempotency', 'reservations'],
  ...['inbox', 'seen', 'addresses', 'letters', 'memos', 'attributes', 'workers', 'blueprints'],
  ...['counters', 'marks', 'outbox_events', 'outbox_dlq', 'schedules', 'archived_books'],
];

export const shelves: Shelves = {
  blueprint: plain('blueprint', 'blueprints', `${named('name')}, version`),
  worker: plain('worker', 'workers', named('id')),
  ended_job: endedJobs,
  open_job: openJobs,
  task: tasks,
  idempotency_key: plain('idempotency_key', 'idempotency', named('client', 'key')),
  share: plain('share', 'reservations', 'id'),
  inbox_item: plain('inbox_item', 'inbox', 'n'),
  seen_signal: plain('seen_signal', 'seen', named('job', 'id')),
  address: addresses,
  letter: letters,
  memo: plain('memo', 'memos', named('job', 'name')),
  outbox_event: withCanonical(
    plain('outbox_event', 'outbox_events', 'n', instants('created_at', 'next_attempt_at')),
  ),
  dead_letter: withCanonical(
    plain(
      'dead_letter',
      'outbox_dlq',
      'n',
      instants('original_created_at', 'moved_at', 'resolved_at'),
    ),
  ),
  schedule: plain('schedule', 'schedules', named('name')),
  history,
  archived_book: plain('archived_book', 'archived_books', named('job')),
  counter: {
    ...plain('counter', 'counters', 'name'),
    from: `(${counters}) AS c`,
    read: `${counters} ORDER BY ${named('name')}`,
  },
  mark: marks,
};
