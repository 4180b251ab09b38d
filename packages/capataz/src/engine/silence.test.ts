import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../core/job.ts';
import { attemptOf, oneTask, startWorld, type World } from './fixtures.ts';

const sdk = { heartbeatMs: 3_000, batch: true };
const rxon = { heartbeatMs: 15_000, bootId: null, slots: null };

async function isCurrent(world: World, task: Task): Promise<boolean> {
  const [now] = await world.truth.tasks([task.jobId]);
  return now?.attempt?.id === task.attempt?.id;
}

for (const { name, heartbeatMs } of [
  { name: 'our SDK', heartbeatMs: 3_000 },
  { name: 'RXON', heartbeatMs: 15_000 },
]) {
  test(`S-23 A-34: silence is three heartbeats, for ${name} ${3 * heartbeatMs} ms`, async () => {
    const world = await startWorld({ blueprints: [oneTask()] });
    const worker = await world.worker('w1', { heartbeatMs, slots: 2 });
    const id = await world.create('one-task');
    const task = await worker.takeOne();
    await world.advance(3 * heartbeatMs - 1);
    assert.ok(await isCurrent(world, task), 'lost before its silence was over');
    await world.advance(1_001);
    assert.ok(!(await isCurrent(world, task)), 'held beyond its silence');
    assert.equal((await world.task(id)).lostRuns, 1);
    assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED FAILED PENDING');
    assert.deepEqual(await world.engine.workers.list(), []);
    await assert.rejects(worker.beat(), { code: 'WORKER_NOT_FOUND' });
    await assert.rejects(worker.poll(), { code: 'WORKER_NOT_FOUND' });
  });
}

test('S-23 A-41: a silence is noticed in time though nothing else happens', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  await world.advance(1_000);
  await world.worker('w1', sdk);
  await world.advance(10_000);
  assert.deepEqual(await world.engine.workers.list(), []);
});

test('S-23: every request of the worker is a sign of life', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { ...sdk, slots: 3 });
  for (let number = 0; number < 3; number += 1) await world.create('one-task');
  const [first, second, kept] = await worker.take(3);
  assert.ok(first !== undefined && second !== undefined && kept !== undefined);
  await world.advance(8_000);
  await worker.report(first);
  await world.advance(8_000);
  const fraction = { attempt: attemptOf(second), fraction: 0.5, message: null };
  await world.engine.workers.progress('w1', second.jobId, fraction);
  await world.advance(8_000);
  const poll = worker.poll({ timeoutMs: 1_000 });
  await world.advance(8_000);
  await poll;
  assert.ok(await isCurrent(world, kept));
});

test('S-23: heartbeats keep an attempt alive for as long as they name it', async () => {
  const world = await startWorld({ blueprints: [oneTask({ executionLimit: '1h' })] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  worker.keepBeating();
  await world.advance(600_000);
  assert.ok(await isCurrent(world, task));
  assert.equal((await world.task(task.jobId)).status, 'RUNNING');
});

test('S-23: a dropped connection shortens the silence to one heartbeat', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { heartbeatMs: 15_000 });
  await world.create('one-task');
  const task = await worker.takeOne();
  await world.advance(1_000);
  const seenAt = (await world.workerState('w1'))?.lastSeenAt;
  world.engine.workers.connectionDropped('w1');
  await world.advance(14_999);
  assert.ok(await isCurrent(world, task), 'a dropped connection is no proof');
  assert.equal((await world.workerState('w1'))?.lastSeenAt, seenAt, 'and no sign of life');
  await world.advance(1_001);
  assert.ok(!(await isCurrent(world, task)), 'the shorter silence was not used');
});

test('S-23: a heartbeat after a dropped connection restores the whole silence', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  world.engine.workers.connectionDropped('w1');
  await world.advance(2_500);
  await worker.beat();
  await world.advance(8_000);
  assert.ok(await isCurrent(world, task));
});

test('S-23 A-33: an attempt that two heartbeats miss is lost after one silence', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  for (let beat = 1; beat <= 2; beat += 1) {
    await world.advance(3_000);
    await worker.beat({ currentTasks: [] });
    assert.ok(await isCurrent(world, task), `lost at heartbeat ${beat}`);
  }
  await world.advance(3_000);
  await worker.beat({ currentTasks: [] });
  assert.ok(!(await isCurrent(world, task)), 'its pick-up deadline has passed');
  assert.equal((await world.task(task.jobId)).lostRuns, 1);
});

test('S-23: one heartbeat that misses an attempt means nothing', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  for (let beat = 0; beat < 20; beat += 1) {
    await world.advance(3_000);
    await worker.beat(beat % 2 === 0 ? { currentTasks: [] } : {});
  }
  assert.ok(await isCurrent(world, task));
});

test('S-23 S-24: absent current tasks mean unknown, an empty list means none', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { heartbeatMs: 3_000 });
  await world.create('one-task');
  const task = await worker.takeOne();
  for (let beat = 0; beat < 20; beat += 1) {
    await world.advance(3_000);
    await world.engine.workers.heartbeat('w1', { status: 'idle' });
  }
  assert.ok(await isCurrent(world, task));
  for (let beat = 0; beat < 2; beat += 1) {
    await world.advance(3_000);
    await worker.beat({ currentTasks: [] });
  }
  assert.ok(!(await isCurrent(world, task)));
});

test('S-24: a new boot id means that the former attempts are lost at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  await worker.register({ bootId: 'w1-boot-2' });
  assert.ok(!(await isCurrent(world, task)));
  assert.equal((await world.task(task.jobId)).lostRuns, 1);
  assert.deepEqual(await worker.report(task), { type: 'ignored', reason: 'stale_task' });
});

test('S-24: the same boot id means alive, over a restart of the server too', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  await worker.register();
  assert.ok(await isCurrent(world, task));
  await world.restart();
  await worker.register();
  assert.ok(await isCurrent(world, task));
  assert.equal((await worker.report(task)).type, 'accepted');
});

test('S-24: a new boot id is noticed over a restart of the server', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  await world.restart();
  await worker.register({ bootId: 'w1-boot-2' });
  assert.ok(!(await isCurrent(world, task)));
});

test('S-24: a new boot id is not forgotten when the store fails in between', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  const release = world.stopAt('heldBy');
  const registered = worker.register({ bootId: 'w1-boot-2' });
  await world.settle();
  world.isStoreDown = true;
  release();
  await assert.rejects(registered, { code: 'STORE_UNAVAILABLE' });
  world.isStoreDown = false;
  await worker.register();
  assert.ok(!(await isCurrent(world, task)));
});

test('S-24: without a boot id, two heartbeats and 31 s of missing mean lost', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', rxon);
  await world.create('one-task');
  const task = await worker.takeOne();
  await world.advance(40_000);
  await worker.beat();
  await world.advance(5_000);
  await worker.register();
  assert.ok(await isCurrent(world, task), 'a registration without a boot id says nothing');
  for (const afterMs of [0, 15_000, 15_000]) {
    await world.advance(afterMs);
    await worker.beat({ currentTasks: [] });
    assert.ok(await isCurrent(world, task), 'its result may still be on the way');
  }
  await world.advance(1_000);
  await worker.beat({ currentTasks: [] });
  assert.ok(!(await isCurrent(world, task)));
});

test('S-24: `offline` ends dispatch at once, but attempts stay current until silence', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { heartbeatMs: 3_000, slots: 2 });
  for (let number = 0; number < 2; number += 1) await world.create('one-task');
  const task = await worker.takeOne();
  await worker.beat({ status: 'offline' });
  assert.deepEqual(await worker.take(), []);
  await world.advance(8_999);
  assert.ok(await isCurrent(world, task));
  await world.advance(1_001);
  assert.ok(!(await isCurrent(world, task)));
});

test('a worker that signs off and holds nothing leaves at once, one that holds something stays', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const idle = await world.worker('idle', { heartbeatMs: 3_000 });
  const holder = await world.worker('holder', { heartbeatMs: 3_000 });
  await world.create('one-task');
  await holder.takeOne();
  await idle.beat({ status: 'offline', currentTasks: [] });
  await holder.beat({ status: 'offline' });
  const ids = (await world.engine.workers.list()).map(({ worker }) => worker.id);
  assert.deepEqual(ids, ['holder']);
});

test('S-37: a silence that ended while no instance was alive gets one heartbeat, once', async () => {
  const world = await startWorld({ blueprints: [oneTask({ executionLimit: '1h' })] });
  const worker = await world.worker('w1', { heartbeatMs: 15_000 });
  await world.create('one-task');
  const task = await worker.takeOne();
  world.kill();
  await world.advance(600_000);
  await world.boot();
  await world.advance(10_000);
  await world.restart();
  await world.advance(4_999);
  assert.ok(await isCurrent(world, task), 'lost before it could say anything');
  await world.advance(1_001);
  assert.ok(!(await isCurrent(world, task)), 'it got another grace with another start');
});

test('S-37: whoever beats within the grace has lost nothing', async () => {
  const world = await startWorld({ blueprints: [oneTask({ executionLimit: '1h' })] });
  const worker = await world.worker('w1', { heartbeatMs: 15_000 });
  await world.create('one-task');
  const task = await worker.takeOne();
  world.kill();
  await world.advance(600_000);
  await world.boot();
  await world.advance(14_000);
  await worker.beat();
  await world.advance(40_000);
  assert.ok(await isCurrent(world, task));
  assert.equal((await worker.report(task)).type, 'accepted');
});

test('A-34: what a silent worker held goes to another one', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const silent = await world.worker('w1', sdk);
  const other = await world.worker('w2', sdk);
  other.keepBeating();
  const id = await world.create('one-task');
  await silent.takeOne();
  const poll = other.poll();
  await world.advance(11_500);
  const [task] = await poll;
  assert.equal(task?.jobId, id);
  assert.equal(task?.attempts, 2);
});

test('S-23: a worker that registers while its loss is under way is not forgotten', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  await world.create('one-task');
  const task = await worker.takeOne();
  const release = world.stopAt('heldBy');
  await world.advance(9_500);
  await worker.register();
  release();
  await world.settle();
  assert.ok(!(await isCurrent(world, task)));
  assert.deepEqual(await worker.beat({ currentTasks: [] }), []);
  assert.notEqual(await world.workerState('w1'), undefined);
});

test('S-17 S-26: RUNNING is written once an attempt, at the first heartbeat that names it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { ...sdk, slots: 2 });
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await worker.beat({ currentTasks: [], prefetched: [attemptOf(task)] });
  assert.equal((await world.task(id)).status, 'ASSIGNED');
  const progress = { attempt: attemptOf(task), fraction: 0.5, message: null };
  for (let beat = 0; beat < 3; beat += 1) {
    await world.advance(1_000);
    await worker.beat();
    await world.engine.workers.progress('w1', id, progress);
    assert.equal((await world.task(id)).status, 'RUNNING');
  }
  await worker.report(task);
  assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED RUNNING SUCCEEDED');
});

test('S-26: a result without a sign of work before it writes RUNNING with itself', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await worker.report(task);
  assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED RUNNING SUCCEEDED');
  const [started] = await world.entries(id, 'task_started');
  const [finished] = await world.entries(id, 'task_finished');
  assert.equal(started?.at, finished?.at);
});

test('S-17: where current tasks are never reported, the flushed reply is the sign of work', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', rxon);
  const [first, second] = [await world.create('one-task'), await world.create('one-task')];
  for (const id of [first, second]) {
    const task = await worker.takeOne();
    world.engine.workers.delivered('w1', [task]);
    await world.settle();
    assert.equal((await world.task(id)).status, 'RUNNING');
    await world.engine.workers.heartbeat('w1', { status: 'idle' });
  }
});

test('S-17: where current tasks are reported, a flushed reply is no sign of work', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', sdk);
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  world.engine.workers.delivered('w1', [task]);
  await world.settle();
  assert.equal((await world.task(id)).status, 'ASSIGNED');
});

test('S-24: a heartbeat is told which attempts to stop, each once, until it names them no more', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { ...sdk, slots: 2 });
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await world.engine.jobs.cancel(id, 'tester', 'enough');
  assert.deepEqual(await worker.beat(), [attemptOf(task)]);
  assert.deepEqual(await worker.beat(), [attemptOf(task)], 'an answer may get lost');
  assert.deepEqual(await worker.beat({ currentTasks: [] }), []);
  assert.deepEqual(await worker.beat({ currentTasks: ['foreign'] }), ['foreign']);
});

test('S-24: a worker that never says what it holds is told of a cancellation until it reports', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', rxon);
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await world.engine.jobs.cancel(id, 'tester', 'enough');
  const beat = (): Promise<readonly string[]> =>
    world.engine.workers.heartbeat('w1', { status: 'idle' });
  assert.deepEqual(await beat(), [attemptOf(task)]);
  assert.deepEqual(await beat(), [attemptOf(task)]);
  await worker.report(task, { status: 'cancelled' });
  assert.deepEqual(await beat(), []);
});

test('B-097: naming the attempt of another worker gives no right to it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const [owner, other] = [await world.worker('w1', sdk), await world.worker('w2', sdk)];
  const id = await world.create('one-task');
  const task = await owner.takeOne();
  assert.deepEqual(await other.beat({ currentTasks: [attemptOf(task)] }), [attemptOf(task)]);
  const progress = { attempt: attemptOf(task), fraction: 1, message: null };
  await world.engine.workers.progress('w2', id, progress);
  assert.equal(world.engine.jobs.progress(id), null);
  assert.equal((await world.task(id)).status, 'ASSIGNED');
});
