import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Change } from '../core/change.ts';
import type { Job, Task } from '../core/job.ts';
import type { Timer } from '../core/signal.ts';
import type { ChangeRequest, Claim, Letter, Store, Work } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import {
  changeOf,
  classKey,
  dispatching,
  ending,
  leasing,
  newJob,
  type OpenStore,
  requeueing,
  second,
  sleeping,
  taskIdOf,
  waitingFor,
  workerOf,
} from './store-suite-kit.ts';
import {
  besidesOfWaits,
  letterOf,
  rememberedOfWaits,
  waitChangeFor,
  waitKinds,
} from './store-suite-model-waits.ts';
import { VirtualClock } from './virtual-clock.ts';

/**
 * The store against the reference: random work is done on both, and every outcome and every read
 * must be the same. A case is a list of moves, so that a failing one shrinks to a short story.
 */
export function modelTest(name: string, open: OpenStore, runs = 20): void {
  it(`S-4 ${name} answers and remembers as the memory store does, whatever the work`, async () => {
    const storiesOf = (moves: typeof move) =>
      fc.array(fc.array(moves, { minLength: 1, maxLength: 5 }), { maxLength: 30, size: 'max' });
    // Short stories come first otherwise, and fan-outs need long ones.
    const stories = fc.oneof(storiesOf(move), fc.noBias(storiesOf(waitMove)));
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const sut = await open();
        try {
          await compare(sut.store, sut.clock, story);
        } finally {
          await sut.close();
        }
      }),
      { numRuns: runs },
    );
  });
}

const kinds = [
  'dispatch',
  'start',
  'claim',
  'end',
  'requeue',
  'hold',
  'sleep',
  'lease',
  'renew',
  'run',
  'note',
  'wait',
  'worker',
  'park',
  'redrive',
  'stuck',
  'stale',
  'take_over',
  'forget',
  ...waitKinds,
] as const;

/** `a`, `b` and `c` mean what the kind of the move makes of them. */
export interface Move {
  readonly kind: (typeof kinds)[number];
  readonly job: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const numbers = { a: fc.nat(3), b: fc.nat(3), c: fc.nat(3) };
const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom(...kinds),
  job: fc.nat(9),
  ...numbers,
});

/** Few jobs, and more of what only happens in the middle of something. */
const waitMove: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom(
    ...waitKinds,
    ...(['fan_out', 'fan_out', 'collect', 'collect', 'collect', 'collect', 'join'] as const),
    ...(['start', 'lease', 'hold', 'forget', 'worker', 'memo', 'letter', 'claim', 'wait'] as const),
  ),
  job: fc.constantFrom(0, 1, 2, 3, 8),
  ...numbers,
});

async function compare(
  store: Store,
  clock: VirtualClock,
  story: readonly (readonly Move[])[],
): Promise<void> {
  const twinClock = new VirtualClock({ now: clock.now() });
  const { shared } = store.capabilities;
  const reference = createMemoryStore({ clock: twinClock, shared });
  const clocks = [clock, twinClock];
  let number = 0;
  for (const moves of story) {
    number += 1;
    const work = await workOf(reference, moves, number);
    const expected = await reference.commit(work);
    assert.deepEqual(await store.commit(work), expected);
    for (const step of moves) {
      const answers = [await besides(reference, step), await besides(store, step)];
      assert.deepEqual(answers[1], answers[0]);
      if (step.kind === 'wait')
        for (const each of clocks) await each.advance(step.a * second + step.b * 6 * 3_600_000);
    }
    assert.deepEqual(
      await store.causes({ after: '', limit: 99 }),
      await reference.causes({ after: '', limit: 99 }),
    );
  }
  assert.deepEqual(await everything(store), await everything(reference));
}

/** What is not part of a work. */
async function besides(store: Store, { kind, job, a, b, c }: Move): Promise<unknown> {
  const id = `w${a}`;
  if (kind === 'forget')
    return store.forgetEnded({
      olderThanMs: a === 3 ? null : a * second,
      keepAtMost: b === 3 ? null : b,
      limit: c + 1,
    });
  if (kind === 'take_over') return store.takeOver(second);
  if (kind === 'renew')
    return store.renewLeases([{ jobId: nameOf(job), token: `t${a}`, forMs: b * second }]);
  if (kind !== 'worker') return besidesOfWaits(store, nameOf(job), { kind, a, b, c });
  if (b === 0) return store.removeWorker(id, `${id}-1`);
  if (b === 1) return store.offerBlueprint({ name: 'digest', version: a, graph: `g${job}` });
  if (b === 2) return store.touchWorkers([{ id, silentAfterMs: second, unseen: job > 3 }]);
  return store.saveWorker(workerOf(id), 3 * second);
}

/** The last two are children of the first two, which alone bring them into being. */
function nameOf(job: number): string {
  return job < 8 ? `j${job}` : `j${job - 8}-child`;
}

async function workOf(reference: Store, moves: readonly Move[], number: number): Promise<Work> {
  const changes: ChangeRequest[] = [];
  const claims: Claim[] = [];
  const letters: Letter[] = [];
  const starts: NonNullable<Work['starts']>[number][] = [];
  const notes: NonNullable<Work['notes']>[number][] = [];
  for (const [index, step] of moves.entries()) {
    const id = nameOf(step.job);
    const tasks = await reference.tasks([id]);
    const [task] = tasks;
    if (step.kind === 'claim') claims.push(claimOf(step, `${number}-${index}`));
    else if (step.kind === 'letter') letters.push(letterOf(step));
    else if (step.kind === 'run')
      starts.push({ jobId: id, taskId: task?.id ?? '', attempt: task?.attempt?.id ?? 'none' });
    else if (step.kind === 'note')
      notes.push({ jobId: id, entries: [{ type: 'signal_refused', number: step.a }] });
    else {
      const job = (await reference.job(id)) ?? newJob(id);
      const child = `${id}-child`;
      const view = {
        job,
        tasks,
        inbox: await reference.inbox(id),
        // Whoever starts a child makes sure that there is none of that id.
        child: step.job < 2 && (await reference.job(child)) === null ? child : null,
      };
      if (step.job < 8 || job.version > 0)
        changes.push(
          ...requestOf(step, waitChangeFor(step, view) ?? changeFor(step, job, task ?? null)),
        );
    }
  }
  return { changes, claims, starts, notes, letters };
}

const skills = ['count', 'merge', 'plan'];
const clients = ['ann', 'bob'];

function claimOf({ job, a, b, c }: Move, name: string): Claim {
  const lanes = clients.map((client) =>
    skills.slice(0, c + 1).map((skill) => classKey({ client, skill })),
  );
  return {
    worker: `w${a}`,
    incarnation: 'i',
    lanes: job % 2 === 0 ? lanes : lanes.toReversed(),
    max: b + 1,
    maxSuspects: a % 2,
    attemptIds: [0, 1, 2, 3].map((index) => `${name}-${index}`),
    choice: { strategy: 'default', candidates: 1, warm: false, cost: null },
  };
}

function timersOf({ b, c }: Move): Timer[] {
  const timers: Timer[] = [];
  if (b > 1) timers.push({ name: 'ready', afterMs: second });
  if (c > 1) timers.push({ name: 'dispatch', afterMs: 2 * second });
  if (c % 2 === 1) timers.push({ name: 'result', afterMs: c * second });
  return timers;
}

function requestOf(step: Move, change: Change | null): ChangeRequest[] {
  if (change === null) return [];
  const { a, b, c } = step;
  const reservations =
    b === 3
      ? [
          {
            key: `k${a % 2}`,
            amount: a + 1,
            limit: 4,
            expiresAfterMs: a === 1 ? 5 * second : null,
            until: c % 2 === 0 ? ('job' as const) : ('wait' as const),
          },
        ]
      : [];
  const request = { change: { ...change, reservations } };
  return change.job.version === 0 && a === 2
    ? [{ ...request, idempotency: { key: `k${b}`, bodyHash: `h${step.c % 2}` } }]
    : [request];
}

function changeFor(step: Move, job: Job, task: Task | null): Change | null {
  const { a, b, c } = step;
  const spec = {
    skill: skills[a % 3] ?? '',
    client: clients[b % 2] ?? '',
    priority: c % 2,
    ...(c === 3 ? { requirements: { worker: 'w1' } } : {}),
  };
  switch (step.kind) {
    case 'dispatch':
      return dispatching(job.id, spec, timersOf(step), { blueprintVersion: a });
    case 'start':
      return changeOf(
        newJob(job.id, {
          blueprintVersion: a,
          status: a === 3 ? 'finished' : 'pending',
          held: b === 3,
          options: { ...newJob(job.id).options, attributes: attributesOf(step) },
        }),
      );
    case 'end':
      return ending(job, c === 0 ? null : task, a === 0 ? 'failed' : 'finished');
    case 'requeue':
      return task === null
        ? null
        : requeueing(job, task, timersOf(step), { failures: a, lostRuns: a % 2 });
    case 'hold':
      return changeOf({ ...job, held: !job.held });
    case 'sleep':
      return sleeping(job, (a + 1) * second);
    case 'lease':
      return leasing({ ...job, wait: null }, `t${a}`, b * second);
    case 'park':
      return changeOf(
        { ...job, status: 'quarantined', wait: null },
        { tasks: [{ type: 'cancel_all' }] },
      );
    case 'redrive':
      return changeOf(
        { ...job, ...waitingFor(taskIdOf(job.id)) },
        { tasks: dispatching(job.id, spec, timersOf(step)).tasks },
      );
    case 'stuck':
      return changeOf(
        { ...job, ...waitingFor(a === 0 ? 'nothing' : taskIdOf(job.id)) },
        { timers: [] },
      );
    case 'stale':
      return changeOf({ ...job, version: job.version === 0 ? 99 : job.version - 1 });
    default:
      return null;
  }
}

function attributesOf({ b, c }: Move): Job['options']['attributes'] {
  return c === 0 ? {} : { tag: { b, a: [c] }, 'odd "name"': b > 1 };
}

async function everything(store: Store) {
  const ids = Array.from({ length: 10 }, (_, index) => nameOf(index));
  const versions = [0, 1, 2].map((version) => ({ name: 'digest', version }));
  const { due, nextInMs } = await store.due(999);
  return {
    now: await store.now(),
    jobs: await store.jobs({ limit: 99 }),
    failed: await store.jobs({ limit: 2, status: ['failed', 'quarantined'], client: 'dev' }),
    tasks: await store.tasks(ids),
    books: await Promise.all(ids.map((id) => store.history(id, 1, 9))),
    events: await store.events(0, 999),
    counts: await store.counts(),
    workers: await store.workers(),
    classes: (await store.queuedClasses()).map(({ key }) => key).sort(),
    held: await Promise.all([0, 1, 2, 3].map((n) => store.heldBy(`w${n}`))),
    runnable: await store.runnable(versions, 9),
    orphans: await store.orphans(versions.slice(1), 3 * second, 9),
    due: due.map((one) => JSON.stringify(one)).sort(),
    nextInMs,
    waits: await rememberedOfWaits(store, ids),
  };
}
