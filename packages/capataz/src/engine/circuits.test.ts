import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../core/job.ts';
import { attemptOf, oneTask, type ScriptedWorker, startWorld, type World } from './fixtures.ts';

/** Lost runs are retried at once, so that a test need not wait for a back-off. */
const patient = { retry: { jitter: 0, base: '1ms', factor: 1, max: 1_000 } } as const;

async function begin(options: Parameters<typeof oneTask>[0] = patient) {
  const world = await startWorld({ blueprints: [oneTask(options)] });
  const worker = await world.worker('w1');
  return { world, worker };
}

function createMany(world: World, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => world.create('one-task')));
}

let boots = 0;

/** Its process dies and another comes up under its id. */
async function crash(world: World, worker: ScriptedWorker): Promise<void> {
  boots += 1;
  worker.holding.clear();
  await worker.register({ bootId: `after-crash-${boots}` });
  await world.advance(10);
}

async function fail(world: World, worker: ScriptedWorker, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await worker.takeOne();
    await crash(world, worker);
  }
}

async function circuit(world: World, id = 'w1'): Promise<string | undefined> {
  return (await world.workerState(id))?.circuit.state;
}

test('S-36 H-45 five lost attempts in a row, and the worker’s polls get nothing; others are unaffected', async () => {
  const { world, worker } = await begin();
  const ids = await createMany(world, 2);
  await fail(world, worker, 4);
  assert.equal(await circuit(world), 'closed');
  await fail(world, worker, 1);
  assert.equal(await circuit(world), 'open');
  const attempts = async () => {
    const tasks = await world.truth.tasks(ids);
    return tasks.reduce((sum, task) => sum + task.attempts, 0);
  };
  const before = await attempts();
  const poll = worker.poll({ timeoutMs: 20_000 });
  await world.advance(20_000);
  assert.deepEqual(await poll, [], 'the poll ends in its time, with nothing');
  assert.equal(await attempts(), before, 'H-dd: what is not handed out counts as no attempt');
  const other = await world.worker('w2', { slots: 2 });
  for (const task of [await other.takeOne(), await other.takeOne()]) await other.report(task);
  for (const id of ids) assert.equal((await world.job(id)).status, 'finished');
});

test('H-dd a task that an open circuit keeps from its worker waits in the queue, and is served after the open time with nobody calling', async () => {
  const { world, worker } = await begin();
  const [id] = await createMany(world, 1);
  await fail(world, worker, 5);
  const poll = worker.poll({ timeoutMs: 60_000 });
  await world.advance(29_000);
  assert.equal((await world.task(id ?? '')).status, 'PENDING');
  await world.advance(1_000);
  const [task] = await Promise.race([poll, world.settle().then((): readonly Task[] => [])]);
  assert.equal(task?.jobId, id);
});

test('S-36 half-open hands out one probe at a time, to however many polls; three results close it', async () => {
  const { world, worker } = await begin();
  await worker.register({ slots: 4, batch: true });
  await createMany(world, 12);
  await fail(world, worker, 5);
  await world.advance(30_000);
  for (let probe = 1; probe <= 3; probe += 1) {
    const polls = [worker.poll({ max: 8 }), worker.poll({ max: 8 })];
    await world.settle();
    assert.equal(await circuit(world), 'half_open');
    assert.equal(worker.holding.size, 1, `probe ${probe}`);
    await world.advance(30_000);
    const [task] = (await Promise.all(polls)).flat();
    assert.ok(task !== undefined);
    const { tasks } = await worker.reportAll([[task, {}]], 5);
    assert.deepEqual(tasks, [], 'the next one goes to a poll, when this result is known');
  }
  assert.equal(await circuit(world), 'closed');
  assert.equal((await worker.take(8)).length, 8);
});

test('S-36 the next probe goes to the poll that waits, as soon as the one before has ended', async () => {
  const { world, worker } = await begin();
  await worker.register({ slots: 2 });
  await createMany(world, 4);
  await fail(world, worker, 5);
  await world.advance(30_000);
  const probe = await worker.takeOne();
  const poll = worker.poll();
  await world.advance(1_000);
  assert.equal(worker.holding.size, 1);
  await worker.report(probe);
  await world.settle();
  assert.equal(worker.holding.size, 1, 'the poll sleeps though a probe may go out');
  assert.equal((await poll).length, 1);
});

test('S-36 a probe that is lost opens the circuit anew', async () => {
  const { world, worker } = await begin();
  await createMany(world, 1);
  await fail(world, worker, 5);
  await world.advance(30_000);
  await fail(world, worker, 1);
  assert.equal(await circuit(world), 'open');
  await world.advance(29_000);
  assert.deepEqual(await worker.take(), []);
  await world.advance(1_000);
  assert.equal((await worker.take()).length, 1);
});

test('S-36 a crash that loses forty attempts is one failure', async () => {
  const { world, worker } = await begin();
  await worker.register({ slots: 40 });
  await createMany(world, 40);
  for (let round = 1; round <= 4; round += 1) {
    // Each of them but one is a suspect from its second run on, and a worker holds one (S-25).
    await createMany(world, 39);
    assert.equal((await worker.take(40)).length, 40);
    await crash(world, worker);
    assert.equal(await circuit(world), 'closed', `round ${round}`);
  }
  await worker.takeOne();
  await crash(world, worker);
  assert.equal(await circuit(world), 'open');
});

test('S-36 any result is a success, also an error; what came back unbegun says nothing', async () => {
  const { world, worker } = await begin();
  await createMany(world, 40);
  await fail(world, worker, 4);
  await worker.fail(await worker.takeOne());
  await fail(world, worker, 4);
  const unheard = await worker.takeOne();
  await world.engine.workers.undelivered('w1', [unheard]);
  await worker.report(await worker.takeOne(), { handedBack: 'not_started' });
  await worker.report(await worker.takeOne(), { handedBack: 'started' });
  await world.engine.jobs.cancel((await worker.takeOne()).jobId, 'tester', 'not needed');
  assert.equal(await circuit(world), 'closed');
  await fail(world, worker, 1);
  assert.equal(await circuit(world), 'open');
});

test('S-36 attempts that run longer than their limit count, those of one moment once', async () => {
  const { world, worker } = await begin({ executionLimit: '10s' });
  await worker.register({ slots: 40 });
  await createMany(world, 44);
  assert.equal((await worker.take(40)).length, 40);
  await world.advance(11_000);
  assert.equal(await circuit(world), 'closed');
  for (let round = 1; round <= 4; round += 1) {
    await worker.takeOne();
    await world.advance(11_000);
  }
  assert.equal(await circuit(world), 'open');
});

test('S-36 a result that is too late for its client says nothing of the worker', async () => {
  const { world, worker } = await begin({ resultTimeout: '2s' });
  await worker.register({ slots: 10 });
  for (let round = 1; round <= 6; round += 1) {
    await createMany(world, 2);
    await worker.take(2);
    await world.advance(3_000);
  }
  assert.equal(await circuit(world), 'closed');
});

test('S-36 a long probe that its worker holds and lives counts as a success', async () => {
  const { world, worker } = await begin({ ...patient, executionLimit: '10h' });
  await worker.register({ slots: 8 });
  await createMany(world, 12);
  await fail(world, worker, 5);
  await world.advance(30_000);
  for (let probe = 1; probe <= 3; probe += 1) {
    assert.equal((await worker.take(8)).length, 1, `probe ${probe}`);
    for (let passed = 0; passed < 60_000; passed += 10_000) {
      await world.advance(10_000);
      await worker.beat({ currentTasks: [...worker.holding] });
    }
  }
  assert.equal(await circuit(world), 'closed');
  assert.equal((await worker.take(5)).length, 5);
});

test('S-36 attempts that are stuck count, too', async () => {
  const { world, worker } = await begin({ ...patient, executionLimit: '10h' });
  await worker.register({ slots: 5, batch: true });
  await createMany(world, 5);
  assert.equal((await worker.take(5)).length, 5);
  await world.advance(6 * 60_000);
  assert.ok(world.warnings.some((text) => text.includes('circuit opened')));
});

test('S-36 H-y a worker that dies with each task and comes back is found out, silence or not', async () => {
  const { world, worker } = await begin();
  await worker.register({ heartbeatMs: 1_000 });
  await createMany(world, 1);
  for (let round = 1; round <= 5; round += 1) {
    await worker.takeOne();
    await world.advance(5_000);
    assert.deepEqual(world.engine.circuits.list(), [], 'no series of a worker that is gone');
    await worker.register();
  }
  assert.equal(await circuit(world), 'open');
  assert.deepEqual(
    world.engine.circuits.list().map(({ name }) => name),
    ['w1'],
  );
});

test('H-y who signs off takes its circuit along', async () => {
  const { world, worker } = await begin();
  await createMany(world, 1);
  await fail(world, worker, 5);
  await worker.beat({ status: 'offline', currentTasks: [] });
  await worker.register();
  assert.equal(await circuit(world), 'closed');
  assert.equal((await worker.take()).length, 1);
});

test('H-aa what an attempt from before the circuit opened comes to is no probe', async () => {
  const { world, worker } = await begin({ ...patient, resultTimeout: '1h' });
  await worker.register({ slots: 9, batch: true, heartbeatMs: 3_000 });
  await createMany(world, 9);
  const kept = await worker.takeOne();
  const live = async (beats: number, ...current: readonly Task[]) => {
    for (let beat = 0; beat < beats; beat += 1) {
      await world.advance(3_000);
      await worker.beat({ currentTasks: [kept, ...current].map(attemptOf) });
    }
  };
  // Heartbeats that don't name an attempt give it up; the worker itself lives.
  for (let round = 0; round < 5; round += 1) {
    await worker.takeOne();
    await live(4);
  }
  assert.equal(await circuit(world), 'open');
  await live(10);
  const probe = await worker.takeOne();
  await worker.report(kept);
  assert.deepEqual(await worker.take(), [], 'the probe is still under way');
  await worker.report(probe);
  await worker.report(await worker.takeOne());
  assert.equal(await circuit(world), 'half_open');
  await worker.report(await worker.takeOne());
  assert.equal(await circuit(world), 'closed');
});

test('H-45 S-36 `why` tells when whoever fits is left alone, and the list of workers shows it', async () => {
  const { world, worker } = await begin();
  const [id = ''] = await createMany(world, 1);
  await fail(world, worker, 5);
  const open = await world.engine.jobs.why(id);
  assert.equal(
    open.summary,
    'task "work" is queued; the circuit of every worker that fits is open; last time: lost',
  );
  assert.match(open.task?.workers[0]?.verdict ?? '', /circuit is open: .* tried again in 30s/);
  await world.worker('w2');
  assert.match((await world.engine.jobs.why(id)).summary, /is queued and waits for a worker/);
  await createMany(world, 1);
  await world.advance(31_000);
  await worker.takeOne();
  const { task } = await world.engine.jobs.why((await createMany(world, 1))[0] ?? '');
  assert.match(task?.workers[0]?.verdict ?? '', /one at a time/);
  assert.equal((await world.workerState('w1'))?.circuit.state, 'half_open');
});

test('S-25 S-36 one poison task is quarantined before it shuts its worker out', async () => {
  const { world, worker } = await begin({ retry: { jitter: 0, base: '1ms' } });
  const [poison = '', ...others] = await createMany(world, 6);
  for (let round = 0; round < 20; round += 1) {
    const [task] = await worker.take();
    if (task?.jobId === poison) await crash(world, worker);
    else if (task !== undefined) await worker.report(task);
  }
  assert.equal((await world.job(poison)).status, 'quarantined');
  assert.equal(await circuit(world), 'closed');
  for (const id of others) assert.equal((await world.job(id)).status, 'finished');
});

test('S-36 an engine that has stopped leaves no alarm of its circuits', async () => {
  const { world, worker } = await begin();
  await createMany(world, 2);
  await fail(world, worker, 5);
  await world.advance(30_000);
  await worker.takeOne();
  await world.engine.stop({ drainMs: 0 });
  const probeMs = 24 * 3_600_000;
  await world.advance(probeMs + 1);
  assert.equal(world.warnings.filter((text) => text.includes('circuit opened')).length, 1);
});
