import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import { silentLog } from '../std/log.ts';
import type { Store } from '../store/contract.ts';
import { MemoryData, openMemoryStore } from '../store/memory/index.ts';
import { Dice } from '../testing/sim/dice.ts';
import { createEngine } from './engine.ts';
import { oneTask, startWorld, storeWith, World } from './fixtures.ts';
import type { EventSink } from './relay.ts';

const minute = 60_000;
/** Cycles are run by hand. */
const byHand = { checkIntervalMs: 24 * 60 * minute };
const many = { slots: 1_000, batch: true };

/** A store that takes no change of these jobs. */
function refusing(store: Store, jobs: ReadonlySet<string>): Store {
  return storeWith(store, {
    commit: async (work: Parameters<Store['commit']>[0]) => {
      if (work.changes?.some(({ change }) => jobs.has(change.job.id)))
        throw new CapatazError('INTERNAL', 'this one cannot be stored');
      return store.commit(work);
    },
  });
}

test('H-b two monitors on one store give an attempt up once: one event, one lost run', async () => {
  const machine = oneTask({ executionLimit: '10h', retry: { jitter: 0, max: 3 } });
  const world = await startWorld({ blueprints: [machine], timeoutMonitor: byHand });
  const worker = await world.worker('w', many);
  const ids = [await world.create('one-task'), await world.create('one-task')];
  await worker.take(2);
  await world.advance(5 * minute + 1);
  const other = createEngine({
    store: world.truth,
    blueprints: [machine],
    clock: world.clock,
    random: new Dice(2),
    instance: 'other',
    client: (name) => ({ name, plan: null, params: {} }),
    log: silentLog,
  });
  const release = world.stopAnswerOf('stuck');
  const slower = world.engine.timeoutMonitor.cycle();
  await world.settle();
  const faster = await other.timeoutMonitor.cycle();
  release();
  await world.settle();
  assert.deepEqual([faster.recovered, faster.lostRaces], [2, 0]);
  const { checked, recovered, lostRaces, failed } = await slower;
  assert.deepEqual([checked, recovered, lostRaces, failed], [2, 0, 2, 0]);
  for (const id of ids) {
    assert.equal((await world.entries(id, 'task_failed')).length, 1);
    assert.equal((await world.task(id)).lostRuns, 1);
  }
});

test('H-c state and event are one commit, and the cycle counts what was committed, published or not', async () => {
  const machine = blueprint({
    name: 'one-task',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['gone'],
        handle: () =>
          dispatch(
            'work',
            {},
            { on: { success: 'gone' }, executionLimit: '10h', retry: { max: 0, then: 'gone' } },
          ),
      },
      gone: { end: 'failed', handle: (job) => void job.emit('topic', 'gone', null) },
    },
  });
  const published: string[] = [];
  let isBusDown = true;
  const sink: EventSink = {
    publish: async ({ name }) => {
      if (isBusDown) throw new Error('the bus is down');
      published.push(name);
    },
    pausedForMs: () => null,
  };
  const refused = new Set<string>();
  const world = await startWorld({
    blueprints: [machine],
    sink,
    wrapStore: (store) => refusing(store, refused),
    timeoutMonitor: byHand,
  });
  const worker = await world.worker('w', many);
  const id = await world.create('one-task');
  await worker.takeOne();
  await world.advance(5 * minute + 1);
  refused.add(id);
  const failing = await world.engine.timeoutMonitor.cycle();
  assert.deepEqual([failing.recovered, failing.failed], [0, 1]);
  assert.equal((await world.task(id)).status, 'ASSIGNED');
  assert.equal((await world.truth.counts()).outbox, 0, 'no event of what did not happen');
  refused.clear();
  await world.advance(minute);
  const { recovered, failed } = await world.engine.timeoutMonitor.cycle();
  assert.deepEqual([recovered, failed], [1, 0], 'a bus that is down is no failure of the cycle');
  assert.equal((await world.job(id)).status, 'failed');
  assert.equal((await world.truth.counts()).outbox, 1);
  isBusDown = false;
  await world.advance(minute);
  assert.deepEqual(published, ['gone']);
});

test('H-k a hundred attempts that can never be given up hold up no other, and are tried ever more seldom', async () => {
  const hopeless = new Set<string>();
  const world = await startWorld({
    blueprints: [oneTask({ executionLimit: '90h', retry: { max: 0 } })],
    wrapStore: (store) => refusing(store, hopeless),
    timeoutMonitor: byHand,
  });
  const worker = await world.worker('w', many);
  const ids: string[] = [];
  for (let count = 0; count < 150; count += 1) ids.push(await world.create('one-task'));
  await worker.take(150);
  for (const id of ids.slice(0, 100)) hopeless.add(id);
  await world.advance(5 * minute + 1);
  const cycle = async (): Promise<readonly number[]> => {
    const { checked, recovered, failed } = await world.engine.timeoutMonitor.cycle();
    return [checked, recovered, failed];
  };
  assert.deepEqual(await cycle(), [100, 0, 100]);
  assert.deepEqual(await cycle(), [50, 50, 0], 'the other fifty come next');
  await world.advance(minute);
  assert.deepEqual(await cycle(), [100, 0, 100]);
  await world.advance(minute);
  assert.deepEqual(await cycle(), [0, 0, 0]);
  await world.advance(minute);
  hopeless.clear();
  assert.deepEqual(await cycle(), [100, 100, 0]);
});

test('H-k those that failed come behind those that were never tried', async () => {
  const hopeless = new Set<string>();
  const world = await startWorld({
    blueprints: [oneTask({ executionLimit: '90h', retry: { max: 0 } })],
    wrapStore: (store) => refusing(store, hopeless),
    timeoutMonitor: { ...byHand, batchSize: 1 },
  });
  const worker = await world.worker('w', many);
  const [old, young] = [await world.create('one-task'), await world.create('one-task')];
  hopeless.add(old);
  await worker.takeOne();
  await world.advance(5 * minute + 1);
  assert.equal((await world.engine.timeoutMonitor.cycle()).failed, 1);
  await worker.takeOne();
  await world.advance(5 * minute + 1);
  assert.equal((await world.engine.timeoutMonitor.cycle()).recovered, 1);
  assert.equal((await world.job(young)).status, 'quarantined');
});

test('H-m the cutoff is of the store’s clock, however far this process’s own is off', async () => {
  for (const offMs of [-60 * minute, 60 * minute]) {
    const data = new MemoryData();
    const world: World = new World({
      blueprints: [oneTask({ executionLimit: '10h', retry: { max: 0 } })],
      wrapStore: () => store,
    });
    const { clock } = world;
    const storeClock = {
      now: () => clock.now() - offMs,
      steady: () => clock.steady(),
      after: (ms: number, callback: () => void) => clock.after(ms, callback),
    };
    const store = openMemoryStore(data, { clock: storeClock });
    await world.boot();
    const worker = await world.worker('w', many);
    const id = await world.create('one-task');
    await worker.takeOne();
    await world.advance(5 * minute - 1_000);
    assert.equal((await store.job(id))?.status, 'waiting_for_worker', `off by ${offMs} ms`);
    await world.advance(31_000);
    assert.equal((await store.job(id))?.status, 'quarantined', `off by ${offMs} ms`);
  }
});

test('H-52 workers that die or hang at random: no task stays ASSIGNED or SCHEDULED beyond limit and interval', async () => {
  const endless = { executionLimit: '90h', retry: { jitter: 0, max: 1_000, cap: '1s' } } as const;
  const world = await startWorld({
    blueprints: [
      oneTask(endless),
      oneTask({ ...endless, requirements: { worker: 'w1' } }, { name: 'bound' }),
    ],
    // A worker of many hangs is left alone for a while, which is another rule.
    circuits: { failureThreshold: 1_000_000 },
  });
  const dice = new Dice(52);
  const ids: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    ids.push(await world.create(count % 3 === 0 ? 'bound' : 'one-task'));
  }
  const limits = { ASSIGNED: 5 * minute + 30_000, SCHEDULED: 10 * minute + 30_000 };
  const hanging = new Set<string>();
  for (let step = 0; step < 200; step += 1) {
    const id = `w${dice.between(1, 4)}`;
    const fields = { slots: 3, batch: true, heartbeatMs: 10_000, bootId: `boot-${step}` };
    const worker = await world.worker(id, fields);
    const fate = dice.pick(['dies', 'hangs', 'hangs', 'is slow'] as const);
    for (const task of await worker.take(3)) {
      if (fate === 'is slow') await worker.beat();
      else if (dice.between(0, 9) === 0) await worker.report(task);
    }
    hanging.delete(id);
    if (fate === 'hangs') hanging.add(id);
    for (let beats = dice.between(1, 24); beats > 0; beats -= 1) {
      // Such a heartbeat says that the worker lives, and nothing of what it does.
      for (const one of hanging) await world.engine.workers.heartbeat(one, { status: 'idle' });
      await world.advance(10_000);
    }
    for (const { id: task, status, attempt } of await world.truth.tasks(ids)) {
      if (status !== 'ASSIGNED' && status !== 'SCHEDULED') continue;
      const age = world.clock.now() - (attempt?.assignedAt ?? 0);
      assert.ok(age <= limits[status], `step ${step}: task ${task} was ${status} for ${age} ms`);
    }
  }
  const books = await Promise.all(ids.map((id) => world.entries(id, 'task_failed')));
  const reasons = new Set(books.flat().map(({ reason }) => reason));
  for (const reason of ['lost', 'assigned_timeout', 'scheduled_timeout'])
    assert.ok(reasons.has(reason), `${reason}: only ${[...reasons]}`);
});
