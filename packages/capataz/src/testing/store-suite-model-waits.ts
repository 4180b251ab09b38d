import type { Also, Change } from '../core/change.ts';
import type { Job, Task } from '../core/job.ts';
import type { InboxItem } from '../core/signal.ts';
import type { Letter, Store } from '../store/contract.ts';
import {
  alsoOf,
  awaitingEvent,
  awaitingKey,
  changeOf,
  collecting,
  early,
  ending,
  endingChild,
  fanningOut,
  newJob,
  second,
  signalOf,
  startingChild,
} from './store-suite-kit.ts';

/** The moves of the model that are about waits, inboxes and shares. */

export const waitKinds = [
  'fan_out',
  'collect',
  'join',
  'signal',
  'post',
  'event',
  'register',
  'letter',
  'queue',
  'give_back',
  'child',
  'child_end',
  'memo',
  'retime',
] as const;

interface WaitMove {
  readonly kind: string;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** What the reference knows of the job before the work. */
interface View {
  readonly job: Job;
  readonly tasks: readonly Task[];
  readonly inbox: readonly InboxItem[];
  /** The id of a child that it may start. */
  readonly child: string | null;
}

/** @returns null for a move of another kind, or one that finds nothing to work on. */
export function waitChangeFor(move: WaitMove, view: View): Change | null {
  const { a, b, c } = move;
  const { job } = view;
  switch (move.kind) {
    case 'fan_out':
      return fanOut(move, job);
    case 'collect':
      return collect(move, view);
    case 'join':
      return join(move, view);
    case 'signal':
      return early(job, signalOf(`s${a}`), b === 0 ? null : b * second);
    case 'post':
      return changeOf(job, { scope: c < 2 ? 'tasks' : 'job', also: postsOf(move, job) });
    case 'event':
      return awaitingEvent(job, { looks: a > 0, disarm: b === 0 ? ['inbox'] : [] });
    case 'register': {
      const keys = [`key${a % 2}`, `key${b % 2}`];
      if (c === 0 && a === 0) return { ...ending(job), also: alsoOf({ keys }) };
      return awaitingEvent(job, { keys, looks: c > 1 });
    }
    case 'queue':
      return { ...awaitingKey(job, `k${a % 2}`, (b + 1) * second), also: wishOf(move) };
    case 'give_back':
      return changeOf(job, { timers: c === 3 ? [] : 'keep', also: sharesOf(move) });
    case 'child':
      return child(move, view);
    case 'child_end':
      if (job.parent === null && b > 0) return null;
      return endingChild(job, job.id.slice(0, 2), a === 0 ? 'failed' : 'finished');
    case 'retime':
      return retime(move, job);
    default:
      return null;
  }
}

function fanOut({ a, b, c }: WaitMove, job: Job): Change {
  const change = fanningOut(job, a, { client: 'ann' });
  const tasks = c > 1 ? [{ type: 'cancel_all' } as const, ...change.tasks] : change.tasks;
  return { ...change, tasks, entered: b > 1 };
}

function collect({ a, b, c }: WaitMove, { job, tasks }: View): Change | null {
  const task = tasks[a % Math.max(1, tasks.length)];
  if (task === undefined) return null;
  const change = collecting(job, task, { data: { a }, status: b === 0 ? 'bad' : 'success' });
  const also = b === 3 ? alsoOf({ signalId: `s${c}` }) : null;
  return { ...change, scope: c === 0 ? 'job' : 'tasks', also };
}

function join({ a, b }: WaitMove, { job, inbox }: View): Change {
  const takes = inbox.filter(({ kind }) => a > 0 || kind === 'branch').map(({ id }) => id);
  return changeOf(
    { ...job, status: 'pending', wait: null, lease: null, results: {}, decided: [] },
    { entered: true, timers: [], also: alsoOf({ takes, disarm: b > 0 ? ['inbox'] : [] }) },
  );
}

/** Own ones, those of another job, and one that nobody has. */
function postsOf({ a, b, c }: WaitMove, job: Job): Also {
  const kinds = ['signal', 'cancel', 'child', 'branch'] as const;
  const item: InboxItem = { id: `p${b}`, kind: kinds[a] ?? 'signal', name: 'x', body: [c] };
  const expiresAfterMs = b === 0 ? null : b * second;
  const to = [job.id, `j${c}`, 'nobody'];
  return alsoOf({ posts: to.map((jobId) => ({ jobId, item, expiresAfterMs })) });
}

function wishOf(move: WaitMove): Also {
  const { a, c } = move;
  const awaits = c === 3 ? null : { key: `k${a % 2}`, amount: c + 1, limit: 4 };
  return { ...sharesOf(move), awaits };
}

function sharesOf({ a, b, c }: WaitMove): Also {
  const key = `k${a % 2}`;
  return alsoOf({
    releases: b === 1 ? [key] : [],
    settles: b === 2 ? [{ key, amount: c / 4 }] : [],
  });
}

function child({ a, b, c }: WaitMove, { job, child: id }: View): Change | null {
  if (id === null) return null;
  const begun = changeOf(newJob(id, { parent: { jobId: job.id, depth: 1 } }));
  if (a === 0) return startingChild(job, endingChild(begun.job, job.id));
  if (a === 1) return startingChild(job, awaitingEvent(begun.job, { keys: [`key${b % 2}`] }));
  if (a === 2 && b === 0) return { ...ending(job), also: alsoOf({ children: [begun] }) };
  const parent = startingChild(job, begun);
  return { ...parent, timers: c === 0 ? 'keep' : [] };
}

function retime({ a, b, c }: WaitMove, job: Job): Change {
  const names = ['deadline', 'silence', 'wake', 'inbox'] as const;
  const name = names[a] ?? 'wake';
  const also = alsoOf({
    rearm: b === 0 ? [] : [{ name, afterMs: b * second }],
    disarm: b > 1 ? [] : [name],
  });
  const timers = c === 0 ? [{ name: 'poll', afterMs: second } as const] : 'keep';
  return changeOf(job, { timers, also, leaseForMs: c === 1 ? second : 'keep' });
}

export function letterOf({ a, b, c }: WaitMove): Letter {
  const item = signalOf(`s${a}`, 'letter');
  return { client: 'dev', key: `key${b % 2}`, item, keepForMs: c * second };
}

/** What is not part of a work. */
export async function besidesOfWaits(store: Store, id: string, move: WaitMove): Promise<unknown> {
  const { kind, a, b, c } = move;
  if (kind !== 'memo') return null;
  const saved = await store.saveMemo({ jobId: id, token: `t${a}`, name: `m${b}`, value: { c } });
  return [saved, await store.memos(id)];
}

export async function rememberedOfWaits(store: Store, ids: readonly string[]) {
  const tags = [{ tag: { a: [1], b: 1 } }, { 'odd "name"': false, tag: { b: 0, a: [2] } }];
  const lists = tags.map((attributes) => store.jobs({ attributes, limit: 3, before: 'j6' }));
  return {
    inboxes: await Promise.all(ids.map((id) => store.inbox(id))),
    memos: await Promise.all(ids.map((id) => store.memos(id))),
    addressed: await Promise.all(['key0', 'key1'].map((key) => store.addressed('dev', key))),
    tagged: await Promise.all([...lists, store.jobs({ attributes: { none: null }, limit: 9 })]),
  };
}
