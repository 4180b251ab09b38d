import type { Emitted, Reservation } from '../core/change.ts';
import type { Job } from '../core/job.ts';
import type { Store } from '../store/contract.ts';
import {
  alsoOf,
  awaitingEvent,
  awaitingKey,
  changeOf,
  claim,
  claim1,
  classKey,
  collecting,
  commit,
  day,
  dispatching,
  early,
  ending,
  fanningOut,
  leasing,
  newJob,
  read,
  requeueing,
  second,
  signalOf,
  sleeping,
  startingChild,
  store1,
  workerOf,
} from './store-suite-kit.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A store with something of everything that stores hold, and all that can be read of it. */

export interface Filled {
  readonly store: Store;
  readonly clock: VirtualClock;
}

/** Through the contract only, so that whatever a store makes of it is in it. */
export async function fillStore(filled: Filled): Promise<void> {
  await fillWorkers(filled);
  await fillTasks(filled);
  await fillWaits(filled);
  await fillShares(filled);
  await fillOutbox(filled);
  await fillEnded(filled);
  await fillSchedules(filled);
}

async function fillSchedules({ store, clock }: Filled): Promise<void> {
  const at = clock.now();
  const slot = {
    first: at,
    last: at,
    outcome: 'started',
    jobId: 'sleeping',
    reason: null,
    at,
  } as const;
  await store.keepSchedule('nightly', { expected: null, handled: at, recent: [slot] });
  const pause = { isPaused: true, by: 'ann' };
  await store.keepSchedule('paused', { expected: null, handled: at, pause });
}

async function fillWorkers({ store, clock }: Filled): Promise<void> {
  await store.saveWorker(workerOf('w1'), day);
  await clock.advance(second);
  await store.saveWorker(workerOf('w2', { type: 'größer', hostname: 'ホスト' }), 2 * day);
  await store.offerBlueprint({ name: 'digest', version: 1, graph: '{"states":["split"]}' });
  await store.offerBlueprint({ name: 'digest', version: 2, graph: '{}' });
}

async function fillTasks({ store, clock }: Filled): Promise<void> {
  const attributes = { order: 7, tags: ['ä', { b: 1, a: null }], 'a"b': 1e21 };
  const options = { ...newJob('x').options, attributes, metadata: { note: 'line\nline' } };
  const idempotency = { key: 'once', bodyHash: 'h1' };
  await store1(store, {
    change: dispatching('queued', {}, [{ name: 'dispatch', afterMs: day }], { options }),
    idempotency,
  });
  for (const id of ['assigned', 'running', 'suspect', 'held', 'delayed']) {
    await store1(store, dispatching(id, { priority: id === 'suspect' ? 3 : 5 }));
    await clock.advance(second);
  }
  const tasks = (await claim(store, { max: 5, worker: 'w1' })).tasks;
  const [assigned, running, held, delayed, suspect] = tasks;
  if (!assigned || !running || !held || !delayed || !suspect) throw new Error('too few tasks');
  const start = { jobId: running.jobId, taskId: running.id, attempt: running.attempt?.id ?? '' };
  await store.commit({ starts: [start] });
  await store1(store, requeueing(await read(store, suspect.jobId), suspect, [], { lostRuns: 1 }));
  const ready = [{ name: 'ready', afterMs: day }] as const;
  await store1(
    store,
    requeueing(await read(store, delayed.jobId), delayed, ready, { failures: 2 }),
  );
  await store1(store, requeueing(await read(store, held.jobId), held));
  await store1(store, changeOf({ ...(await read(store, held.jobId)), held: true }));
  await store1(store, dispatching('bound', { requirements: { worker: 'w2' } }));
  await store1(store, dispatching('other', { client: 'ann', skill: 'sum' }));
}

async function fillWaits({ store, clock }: Filled): Promise<void> {
  await store1(store, sleeping(newJob('sleeping'), day));
  const pending = await store1(store, changeOf(newJob('leased')));
  await store1(store, leasing(pending, 'token-1', day));
  await store.saveMemo({ jobId: 'leased', token: 'token-1', name: 'step', value: { n: [1, 'ü'] } });
  const event = await store1(
    store,
    awaitingEvent(newJob('event'), { keys: ['order-7', 'order-8'] }),
  );
  await store1(store, early(event, signalOf('s1', 'later'), day));
  await store1(store, early(event, signalOf('s2', 'later')));
  const letter = { client: 'dev', keepForMs: day } as const;
  await store.commit({
    letters: [
      { ...letter, key: 'order-7', item: signalOf('s3') },
      { ...letter, key: 'order-9', item: signalOf('s4') },
      { ...letter, key: 'order-9', item: signalOf('s5') },
    ],
  });
  await clock.advance(second);
  const child = changeOf(newJob('child', { parent: { jobId: 'parent', depth: 1 } }));
  await store1(store, startingChild(newJob('parent'), child));
  const fan = await store1(store, fanningOut(newJob('fan'), 3, { skill: 'branch' }));
  const branch = await claim1(store, { lanes: [[classKey({ skill: 'branch' })]], worker: 'w2' });
  await store1(store, collecting(fan, branch, { data: { sum: 1.5 } }));
  await store1(store, changeOf(newJob('person', waitingForPerson), { timers: [] }));
  await store1(store, changeOf(newJob('parked', parked), { timers: [] }));
}

const waitingForPerson: Partial<Job> = {
  status: 'waiting_for_human',
  wait: {
    ...{ type: 'approval', id: 'p1', message: 'Pay?', show: { amount: 12.5, to: 'Zoë' } },
    ...{ hash: 'abc', revision: null, escalated: false, on: { approved: 'done' }, signals: {} },
  },
};

const parked: Partial<Job> = {
  status: 'quarantined',
  error: { code: 'HANDLER_FAILED', message: 'no', details: { deep: [{ ok: false }] } },
  resume: { type: 'handler' },
};

async function fillShares({ store, clock }: Filled): Promise<void> {
  const share = (fields: Partial<Reservation> = {}): Reservation => ({
    ...{ key: 'one-at-a-time', amount: 1, limit: 1, expiresAfterMs: null, until: 'job' },
    ...fields,
  });
  await store1(store, changeOf(newJob('holder'), { reservations: [share()] }));
  for (const id of ['second', 'first', 'third']) {
    await store1(store, awaitingKey(newJob(id), 'one-at-a-time'));
    await clock.advance(second);
  }
  const budget = share({ key: 'budget', amount: 2.75, limit: 10, expiresAfterMs: day });
  const spender = await store1(store, changeOf(newJob('spender'), { reservations: [budget] }));
  const settles = [{ key: 'budget', amount: 1.25 }];
  await store1(store, changeOf(spender, { also: alsoOf({ settles }) }));
  const begun = sleeping(newJob('waiter'), day);
  await store1(store, { ...begun, reservations: [share({ key: 'room', until: 'wait' })] });
}

async function fillOutbox({ store, clock }: Filled): Promise<void> {
  const emits = ['e1', 'e2', 'e3', 'e4', 'e5'].map(
    (id, index): Emitted => ({
      ...{ id, number: index + 1, exchange: 'topic', name: 'done' },
      payload: { zeta: 1, alpha: { ü: [0.1, 1e300] }, of: id },
    }),
  );
  for (const emit of emits) {
    const job = newJob(`emits-${emit.id}`, { emitted: 1, trace: '00-aa-bb-01' });
    await store1(store, changeOf(job, { also: alsoOf({ emits: [emit] }) }));
  }
  await store.settleOutbox([
    { type: 'failed', id: 'e2', error: 'no bus', retryAfterMs: day },
    { type: 'dead', id: 'e3', error: 'no route' },
    { type: 'dead', id: 'e4', error: 'no "route"' },
    { type: 'published', id: 'e5' },
  ]);
  await clock.advance(second);
  await store.resolveLetters(['e4'], 'ann', 'sent by hand');
}

async function fillEnded({ store, clock }: Filled): Promise<void> {
  const idempotency = { key: 'ended-once', bodyHash: 'h2' };
  // By the order of their ends, which is not that of their ids.
  for (const id of ['ended-b', 'ended-a', 'ended-c']) {
    const fields = { input: { text: `of ${id}\u2028` }, data: { list: [1, 2, { x: null }] } };
    const change = changeOf(newJob(id, fields));
    const job = await store1(store, id === 'ended-a' ? { change, idempotency } : change);
    const known = await store1(store, {
      ...early(job, signalOf(`signal-of-${id}`)),
      scope: 'job',
    });
    await clock.advance(second);
    await store1(store, ending(known, null, id === 'ended-c' ? 'failed' : 'finished'));
  }
  await commit(store, changeOf(newJob('last'), { history: [{ type: 'job_held', reason: 'ß' }] }));
  await store.commit({ notes: [{ jobId: 'ended-a', entries: [{ type: 'report_refused' }] }] });
  // A part of a book lies elsewhere.
  const { rows } = await store.booksToMove(0, 1_000);
  await store.booksMoved({ rows: rows.slice(0, 1), position: 1, isArchived: true });
}

/** What every verb that reads answers, as one value that can be compared. */
export async function everythingOf(store: Store): Promise<Readonly<Record<string, unknown>>> {
  const jobs = await store.jobs({ limit: 1_000 });
  const ids = jobs.map(({ id }) => id);
  const each = async <T>(read: (id: string) => Promise<T>): Promise<Record<string, T>> =>
    Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await read(id)] as const)));
  const offered = [1, 2].map((version) => ({ name: 'digest', version }));
  const classes = await store.queuedClasses();
  return {
    now: await store.now(),
    jobs,
    byAttribute: await store.jobs({ attributes: { order: 7 }, limit: 10 }),
    byCorrelation: await store.jobs({ correlationId: 'c-ended-a', limit: 10 }),
    tasks: await each((id) => store.tasks([id])),
    inbox: await each((id) => store.inbox(id)),
    seen: await each((id) => store.seen(id, ['s1', 's2', 's3', `signal-of-${id}`])),
    memos: await each((id) => store.memos(id)),
    history: await each((id) => store.history(id, 0, 1_000)),
    causes: await store.causes({ after: '', limit: 1_000 }),
    addressed: await Promise.all(
      ['order-7', 'order-8', 'order-9'].map((key) => store.addressed('dev', key)),
    ),
    events: await store.events(0, 10_000),
    archived: await each((id) => store.archived(id)),
    due: await store.due(1_000),
    runnable: await store.runnable(offered, 1_000),
    classes: classes.map(({ key }) => key).sort(),
    held: [await store.heldBy('w1'), await store.heldBy('w2')],
    workers: await store.workers(),
    schedules: await store.schedules(),
    orphans: await store.orphans([], 0, 1_000),
    // Held back from others for no time: it is only looked at.
    outbox: await store.outbox(100, 0),
    letters: await store.deadLetters({ limit: 100, resolvedToo: true }),
    stuck: await store.stuck({ status: 'ASSIGNED', olderThanMs: 0, limit: 10 }),
    counts: await store.counts(),
  };
}
