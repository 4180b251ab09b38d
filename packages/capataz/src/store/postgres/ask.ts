import type { JobStatus } from '../../core/status.ts';
import { bigint, text } from './columns.ts';
import type { TaskRow } from './rows.ts';
import type { Session } from './statements.ts';
import type { Touched } from './touched.ts';
import { classId } from './working-set.ts';

/** What is always read of a job: the rules look at the rest only where it stays as it is. */
interface JobColumns {
  readonly version: number;
  readonly client: string;
  readonly correlation: string;
  readonly wait_key: string | null;
  readonly place: number | null;
  readonly last_seq: number;
}

export interface LockedJob extends JobColumns {
  readonly id: string;
  readonly n: number;
  readonly status: JobStatus;
  readonly held: boolean;
  readonly lease_until: number | null;
  readonly timers: string;
  /** Null, as the next two, where it is not needed whole. */
  readonly record: string | null;
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

interface HeadRow extends TaskRow, JobColumns {
  readonly job_n: number;
  readonly job_status: JobStatus;
  readonly job_lease_until: number | null;
  readonly job_timers: string;
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
  const began = session.begin();
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

type WatchedTask = TaskRow & { readonly watched: boolean };

/** Locks first, so that everything else is read as it stands under them. */
async function askJobs(session: Session, touched: Touched) {
  const jobs = text([...touched.jobs]);
  const addresses = text([...touched.addresses]);
  const hasJobs = touched.jobs.size > 0;
  const isAny = hasJobs || touched.addresses.size > 0;
  const byName = touched.tasks.filter(({ job }) => !touched.allTasks.has(job));
  const named = [text(byName.map(({ job }) => job)), text(byName.map(({ id }) => id))] as const;
  const [locked, hot, , ended, tasks, others] = await Promise.all([
    when(isAny, () =>
      session.all<{ keys: string[] }>('lock-keys', jobs, text([...touched.shares]), addresses),
    ),
    when(isAny, () =>
      session.all<LockedJob>('lock-jobs', jobs, text([...touched.whole]), addresses),
    ),
    when(hasJobs, () => session.all<{ id: string }>('lock-ended', jobs)),
    when(hasJobs, () => session.all<EndedRow>('load-ended', jobs)),
    when(hasJobs, () => {
      const all = text([...touched.allTasks]);
      const requeued = text([...touched.requeued]);
      return session.all<WatchedTask>('load-tasks', jobs, all, ...named, requeued);
    }),
    when(touched.others.size > 0, () =>
      session.all<WatchedTask>('load-others', text([...touched.others]), ...named),
    ),
  ]);
  return { locked, hot, ended, tasks: [...tasks, ...others] };
}

async function askBeside(session: Session, touched: Touched) {
  const jobs = text([...touched.jobs]);
  const addresses = text([...touched.addresses]);
  const signals = text([...touched.signals]);
  const hasAddresses = touched.addresses.size > 0;
  const isAny = touched.jobs.size > 0 || hasAddresses;
  const clients = text(touched.keys.map(({ client }) => client));
  const names = text(touched.keys.map(({ key }) => key));
  const [inbox, seen, letters, addressed, shares, keys, children] = await Promise.all([
    when(isAny, () => {
      const [all, items] = [text([...touched.allTasks]), text([...touched.items])];
      const parameters = [jobs, all, items, addresses] as const;
      return session.all<ItemRow & { job: string; expires_at: number | null }>(
        'load-inbox',
        ...parameters,
      );
    }),
    when(touched.signals.size > 0 || hasAddresses, () =>
      session.all<{ job: string; id: string }>('load-seen', jobs, signals, addresses),
    ),
    when(hasAddresses, () =>
      session.all<ItemRow & { address: string; body: string; expires_at: number }>(
        'load-letters',
        addresses,
      ),
    ),
    when(hasAddresses, () =>
      session.all<{ address: string; job: string }>('load-addresses', addresses),
    ),
    when(isAny, () => session.all<ShareRow>('load-shares', jobs)),
    when(touched.keys.length > 0, () => session.all<KeyRow>('load-keys', clients, names)),
    when(touched.children.size > 0, () =>
      session.all<{ id: string }>('hot-among', [...touched.children]),
    ),
  ]);
  return { inbox, seen, letters, addressed, shares, keys, children };
}

async function askQueue(session: Session, touched: Touched) {
  const wanted = [...touched.classes.values()];
  const isAny = wanted.length > 0;
  const ids = text([...touched.classes.keys()].map(classId));
  const counts = bigint(wanted.map(({ count }) => count));
  const suspects = bigint(wanted.map((each) => each.suspects));
  // One more than can have been read and handed out, so that it is known whether anything is left.
  const limits = wanted.map((each) => each.count + each.suspects + touched.tasks.length + 1);
  const read = [
    text(touched.tasks.map(({ job }) => job)),
    text(touched.tasks.map(({ id }) => id)),
    text([...touched.allTasks]),
  ] as const;
  const [heads, sizes] = await Promise.all([
    when(isAny, () => session.all<HeadRow>('queue-heads', ids, counts, suspects, ...read)),
    when(isAny, () => session.all<SizeRow>('queue-sizes', ids, bigint(limits))),
  ]);
  return { heads, sizes };
}

interface SizeRow {
  readonly class: string;
  readonly size: number;
  /** There may be more. */
  readonly is_cut: boolean;
}
