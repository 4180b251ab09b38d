import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type WorkerStatus, workerMayBecome } from '../core/status.ts';
import type { CapatazError } from '../protocol/errors.ts';
import { Dice } from '../testing/sim/dice.ts';
import { oneTask, startWorld, type World } from './fixtures.ts';

/** What the engine tells of each worker, in order. */
class Book {
  readonly #told = new Map<string, WorkerStatus[]>();

  readonly observer = {
    onCommitted: () => undefined,
    onVerdict: () => undefined,
    onWorkerCame: (worker: string) => void this.of(worker).push('CREATING'),
    onWorkerStatus: (worker: string, status: WorkerStatus) => {
      if (this.of(worker).at(-1) !== status) this.of(worker).push(status);
    },
  };

  of(worker: string): WorkerStatus[] {
    const told = this.#told.get(worker) ?? [];
    this.#told.set(worker, told);
    return told;
  }
}

async function begin() {
  const book = new Book();
  const blueprints = [oneTask({ retry: { jitter: 0, base: '1ms', max: 99 } })];
  const world = await startWorld({ blueprints, observer: book.observer });
  return { world, book };
}

async function statusOf(world: World, id = 'w1'): Promise<WorkerStatus | undefined> {
  return (await world.workerState(id))?.worker.status;
}

function refusal(from: WorkerStatus, to: WorkerStatus, reason: string): Partial<CapatazError> {
  return {
    code: 'INVALID_WORKER_STATE_TRANSITION',
    details: { worker_id: 'w1', from_state: from, to_state: to, reason },
  };
}

test('H-6 H-12 S-38 a worker’s way through the engine is told step by step', async () => {
  const { world, book } = await begin();
  const worker = await world.worker('w1', { slots: 2 });
  for (let count = 0; count < 2; count += 1) await world.create('one-task');
  const [first, second] = await worker.take(2);
  assert.ok(first !== undefined && second !== undefined);
  await worker.report(first);
  await world.engine.workers.drain('w1');
  await worker.report(second);
  await worker.beat({ status: 'offline' });
  assert.deepEqual(book.of('w1'), [
    ...['CREATING', 'CONNECTING', 'READY', 'BUSY', 'READY'],
    ...['DRAINING', 'TERMINATING', 'TERMINATED'],
  ]);
  assert.deepEqual(await world.engine.workers.list(), []);
});

test('H-hh a lost READY worker ends by two recorded steps, and a new process under its id begins anew', async () => {
  const { world, book } = await begin();
  const worker = await world.worker('w1', { heartbeatMs: 1_000 });
  const arrival = ['CREATING', 'CONNECTING', 'READY'];
  await world.advance(4_000);
  assert.deepEqual(book.of('w1').slice(3), ['TERMINATING', 'TERMINATED']);
  await worker.register();
  await worker.register({ bootId: 'another' });
  assert.deepEqual(book.of('w1').slice(5), [
    ...arrival,
    ...['TERMINATING', 'TERMINATED'],
    ...arrival,
  ]);
});

test('H-7 a drain of what drains already, and the end of a drain that is none, are refused and change nothing', async () => {
  const { world, book } = await begin();
  const { workers } = world.engine;
  const worker = await world.worker('w1');
  await assert.rejects(
    workers.cancelDrain('w1'),
    refusal('READY', 'READY', 'drain cancelled: it does not drain'),
  );
  await workers.drain('w1');
  const before = await world.truth.workers();
  await assert.rejects(workers.drain('w1'), refusal('DRAINING', 'DRAINING', 'graceful stop'));
  assert.deepEqual(await world.truth.workers(), before);
  assert.deepEqual(book.of('w1').slice(2), ['READY', 'DRAINING']);
  await worker.beat({ status: 'draining' });
  await assert.rejects(workers.cancelDrain('nobody'), { code: 'WORKER_NOT_FOUND' });
});

test('H-ff a drain is called off: the poll that waits is served, and a restart knows of it', async () => {
  const { world } = await begin();
  const worker = await world.worker('w1');
  await world.engine.workers.drain('w1');
  await world.restart();
  assert.equal(await statusOf(world), 'DRAINING');
  const id = await world.create('one-task');
  const poll = worker.poll();
  await world.advance(1_000);
  assert.equal(await world.engine.workers.cancelDrain('w1'), 'READY');
  assert.equal((await poll)[0]?.jobId, id);
  assert.equal(await statusOf(world), 'BUSY');
  await world.restart();
  assert.equal(await statusOf(world), 'BUSY');
});

test('H-ff a drain that is called off with every slot taken leads to BUSY, by two steps', async () => {
  const { world, book } = await begin();
  const worker = await world.worker('w1');
  await world.create('one-task');
  await worker.takeOne();
  await world.engine.workers.drain('w1');
  assert.equal(await world.engine.workers.cancelDrain('w1'), 'BUSY');
  assert.deepEqual(book.of('w1').slice(-4), ['BUSY', 'DRAINING', 'READY', 'BUSY']);
});

test('H-ff with its last task a draining worker goes on to its end, which a restart knows after its next heartbeat', async () => {
  const { world } = await begin();
  const worker = await world.worker('w1');
  await world.create('one-task');
  const task = await worker.takeOne();
  await world.engine.workers.drain('w1');
  await worker.beat();
  await worker.report(task);
  assert.equal(await statusOf(world), 'TERMINATING');
  await worker.beat();
  await world.restart();
  assert.equal(await statusOf(world), 'TERMINATING');
  await assert.rejects(
    world.engine.workers.cancelDrain('w1'),
    refusal('TERMINATING', 'READY', 'drain cancelled: it does not drain'),
  );
  await worker.register();
  assert.equal(await statusOf(world), 'READY');
});

test('H-50 two operators drain a worker at once: one wins, the other gets a conflict', async () => {
  const { world } = await begin();
  await world.worker('w1');
  const release = world.stopAt('touchWorkers');
  const drains = [world.engine.workers.drain('w1'), world.engine.workers.drain('w1')];
  const settled = Promise.allSettled(drains);
  await world.settle();
  release();
  const results = (await settled).map(({ status }) => status);
  assert.deepEqual(results, ['fulfilled', 'rejected']);
  assert.equal(await statusOf(world), 'DRAINING');
});

test('H-7 a drain that the store does not take has not begun', async () => {
  const { world } = await begin();
  await world.worker('w1');
  world.isStoreDown = true;
  await assert.rejects(world.engine.workers.drain('w1'), { code: 'STORE_UNAVAILABLE' });
  world.isStoreDown = false;
  assert.equal(await statusOf(world), 'READY');
  await world.engine.workers.drain('w1');
});

test('H-1 H-2 whatever happens to workers in the engine, their statuses take only the 14 steps', async () => {
  const { world, book } = await begin();
  const dice = new Dice(38);
  const ids = ['w1', 'w2', 'w3'];
  const workers = await Promise.all(
    ids.map((id, index) => world.worker(id, { slots: index + 1, heartbeatMs: 2_000 })),
  );
  const tasks = ids.map(() => new Set<Awaited<ReturnType<(typeof workers)[0]['takeOne']>>>());
  for (let round = 0; round < 600; round += 1) {
    const index = dice.between(0, ids.length - 1);
    const [worker, held, id] = [workers[index], tasks[index], ids[index]];
    if (worker === undefined || held === undefined || id === undefined) continue;
    const [task] = held;
    const deeds = {
      create: () => world.create('one-task'),
      take: async () => {
        if ((await statusOf(world, id)) === undefined) return;
        for (const taken of await worker.take(2)) held.add(taken);
      },
      report: async () => {
        if (task === undefined) return;
        held.delete(task);
        await worker.report(task);
      },
      beat: () => worker.beat(),
      offline: () => worker.beat({ status: 'offline' }),
      drain: () => world.engine.workers.drain(id),
      undo: () => world.engine.workers.cancelDrain(id),
      register: () => worker.register(),
      crash: () => worker.register({ bootId: `boot-${round}` }),
      wait: () => world.advance(2_500),
    };
    const deed = dice.pick([
      ...(['create', 'take', 'take', 'report', 'report', 'beat', 'offline'] as const),
      ...(['drain', 'undo', 'register', 'register', 'crash', 'wait'] as const),
    ]);
    await Promise.resolve(deeds[deed]()).catch(() => undefined);
  }
  const seen = new Set<string>();
  for (const id of ids) {
    book.of(id).reduce((from, to) => {
      const isFresh = to === 'CREATING' || to === 'READY';
      assert.ok(workerMayBecome(from, to) || isFresh, `${id}: ${from} → ${to}`);
      seen.add(`${from} → ${to}`);
      return to;
    });
  }
  assert.ok(seen.size >= 10, [...seen].join(', '));
});
