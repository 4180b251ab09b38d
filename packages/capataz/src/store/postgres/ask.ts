import type { JobStatus } from '../../core/status.ts';
import type { TaskRow } from './rows.ts';
import type { Session } from './statements.ts';
import type { Touched } from './touched.ts';
import { classId } from './working-set.ts';

export interface LockedJob {
  readonly id: string;
  readonly n: number;
  readonly lease_until: number | null;
  readonly timers: string;
  readonly place: number | null;
  readonly last_seq: number;
  readonly record: string;
  /** Null where only the record is needed. */
  readonly data: string | null;
  readonly pinned: string | null;
}

interface EndedRow {
  readonly id: string;
  readonly client: string;
  readonly correlation: string;
  readonly status: JobStatus;
  readonly last_seq: number;
}

interface HeadRow extends TaskRow {
  readonly job_n: number;
  readonly job_lease_until: number | null;
  readonly job_timers: string;
  readonly place: number | null;
  readonly last_seq: number;
  readonly record: string;
}

export interface ShareRow {
  readonly id: number | null;
  readonly key: string;
  readonly job: string | null;
  readonly amount: number;
  readonly expires_at: number | null;
  readonly until_wait: boolean;
}

interface ItemRow {
  readonly n: number;
  readonly id: string;
  readonly kind: 'signal' | 'branch' | 'child';
  readonly name: string;
}

interface KeyRow {
  readonly client: string;
  readonly key: string;
  readonly body_hash: string;
  readonly job: string;
  readonly expires_at: number;
  readonly created_at: number | null;
}

export type Answers = Awaited<ReturnType<typeof ask>>;

/** Begins the transaction and asks everything in one go; what the batch has nothing of is not asked. */
export async function ask(session: Session, touched: Touched, given: number | null) {
  const began = session.command('BEGIN');
  const [, begun, jobs, beside, queue] = await Promise.all([
    began,
    session.all<{ at: number; places: number; hand_outs: number }>(
      'begin',
      given,
      touched.waits,
      touched.classes.size > 0,
    ),
    askJobs(session, touched),
    askBeside(session, touched),
    askQueue(session, touched),
  ]);
  return { begun, ...jobs, ...beside, ...queue };
}

function when<Row>(holds: boolean, rows: () => Promise<Row[]>): Promise<Row[]> {
  return holds ? rows() : Promise.resolve([]);
}

/** Locks first, so that everything else is read as it stands under them. */
async function askJobs(session: Session, touched: Touched) {
  const jobs = [...touched.jobs];
  const addresses = [...touched.addresses];
  const isAny = jobs.length + addresses.length > 0;
  const taskJobs = touched.tasks.map(({ job }) => job);
  const taskIds = touched.tasks.map(({ id }) => id);
  const [locked, hot, ended, tasks] = await Promise.all([
    when(isAny, () =>
      session.all<{ keys: string[] }>('lock-keys', jobs, [...touched.shares], addresses),
    ),
    when(isAny, () => session.all<LockedJob>('lock-jobs', jobs, [...touched.whole], addresses)),
    when(jobs.length > 0, () => session.all<EndedRow>('lock-ended', jobs)),
    when(jobs.length > 0, () => {
      const parameters = [jobs, [...touched.allTasks], taskJobs, taskIds] as const;
      return session.all<TaskRow & { watched: boolean }>('load-tasks', ...parameters);
    }),
  ]);
  return { locked, hot, ended, tasks };
}

async function askBeside(session: Session, touched: Touched) {
  const jobs = [...touched.jobs];
  const addresses = [...touched.addresses];
  const signals = [...touched.signals];
  const isAny = jobs.length + addresses.length > 0;
  const clients = touched.keys.map(({ client }) => client);
  const names = touched.keys.map(({ key }) => key);
  const [inbox, seen, letters, addressed, shares, keys, children] = await Promise.all([
    when(isAny, () => {
      const parameters = [jobs, [...touched.allTasks], [...touched.taken], addresses] as const;
      return session.all<ItemRow & { job: string; expires_at: number | null }>(
        'load-inbox',
        ...parameters,
      );
    }),
    when(signals.length + addresses.length > 0, () =>
      session.all<{ job: string; id: string }>('load-seen', jobs, signals, addresses),
    ),
    when(addresses.length > 0, () =>
      session.all<ItemRow & { address: string; body: string; expires_at: number }>(
        'load-letters',
        addresses,
      ),
    ),
    when(addresses.length > 0, () =>
      session.all<{ address: string; job: string }>('load-addresses', addresses),
    ),
    when(isAny, () => session.all<ShareRow>('load-shares', jobs)),
    when(names.length > 0, () => session.all<KeyRow>('load-keys', clients, names)),
    when(touched.children.size > 0, () =>
      session.all<{ id: string }>('hot-among', [...touched.children]),
    ),
  ]);
  return { inbox, seen, letters, addressed, shares, keys, children };
}

/** More are counted than can be read, but not a whole backlog. */
const countedBeyond = 1_000;

async function askQueue(session: Session, touched: Touched) {
  const classes = [...touched.classes].map(([key, wanted]) => ({ id: classId(key), ...wanted }));
  const isAny = classes.length > 0;
  const ids = classes.map(({ id }) => id);
  const counts = classes.map(({ count }) => count);
  const suspects = classes.map((wanted) => wanted.suspects);
  const limits = classes.map((wanted) => wanted.count + wanted.suspects + countedBeyond);
  const read = [
    touched.tasks.map(({ job }) => job),
    touched.tasks.map(({ id }) => id),
    [...touched.allTasks],
  ] as const;
  const [heads, sizes] = await Promise.all([
    when(isAny, () => session.all<HeadRow>('queue-heads', ids, counts, suspects, ...read)),
    when(isAny, () => session.all<SizeRow>('queue-sizes', ids, limits)),
  ]);
  return { heads, sizes };
}

interface SizeRow {
  readonly class: string;
  readonly size: number;
  /** There may be more. */
  readonly is_cut: boolean;
}
