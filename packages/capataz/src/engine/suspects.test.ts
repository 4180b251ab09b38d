import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../core/job.ts';
import { attemptOf, oneTask, type ScriptedWorker, startWorld, type World } from './fixtures.ts';

async function lostRunsOf(world: World, ids: readonly string[]): Promise<number[]> {
  const tasks = await Promise.all(ids.map((id) => world.task(id)));
  return tasks.map(({ lostRuns }) => lostRuns);
}

async function createMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) ids.push(await world.create('one-task'));
  return ids;
}

/** Its process dies and another comes up under its id. */
async function crash(worker: ScriptedWorker, boot: number): Promise<void> {
  worker.holding.clear();
  await worker.register({ bootId: `boot-${boot}` });
}

const fast = { retry: { jitter: 0, base: '1ms', max: 5 } } as const;

test('S-25: an undelivered reply is not counted, every other end without a report is', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const worker = await world.worker('w1');
  const [id = ''] = await createMany(world, 1);
  for (let round = 0; round < 10; round += 1) {
    await world.engine.workers.undelivered('w1', [await worker.takeOne()]);
  }
  assert.deepEqual(await lostRunsOf(world, [id]), [0]);
  for (let boot = 2; boot <= 4; boot += 1) {
    await worker.takeOne();
    await crash(worker, boot);
    await world.advance(1_000);
  }
  assert.deepEqual(await lostRunsOf(world, [id]), [3]);
  assert.equal((await world.task(id)).failures, 0);
});

test('S-25: prefetched tasks that never started are not blamed for the death', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const worker = await world.worker('w1', { slots: 2, batch: true });
  const ids = await createMany(world, 6);
  assert.equal((await worker.take(8)).length, 6);
  await crash(worker, 2);
  assert.deepEqual(await lostRunsOf(world, ids), [1, 1, 0, 0, 0, 0]);
});

test('S-25: prefetched tasks that heartbeats miss are not blamed either', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const worker = await world.worker('w1', { batch: true, heartbeatMs: 3_000 });
  const ids = await createMany(world, 4);
  assert.equal((await worker.take(4)).length, 4);
  for (let beat = 0; beat < 3; beat += 1) {
    await world.advance(3_000);
    await worker.beat({ currentTasks: [] });
  }
  assert.deepEqual(await lostRunsOf(world, ids), [1, 0, 0, 0]);
  assert.ok((await world.truth.tasks(ids)).every(({ attempt }) => attempt === null));
});

test('S-25: a worker holds at most one suspect, in one claim and over several', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const first = await world.worker('w1', { slots: 3 });
  const suspects = await createMany(world, 3);
  assert.equal((await first.take(3)).length, 3);
  await crash(first, 2);
  await world.advance(1_000);
  assert.deepEqual(await lostRunsOf(world, suspects), [1, 1, 1]);
  const [fresh] = await createMany(world, 1);
  const worker = await world.worker('w2', { slots: 4 });
  const got = await worker.take(4);
  assert.deepEqual(
    got.map(({ jobId }) => jobId),
    [suspects[0], fresh],
  );
  assert.deepEqual(await worker.take(4), []);
});

test('S-25: two polls of one worker get one suspect between them', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const first = await world.worker('w1', { slots: 2 });
  await createMany(world, 2);
  await first.take(2);
  const worker = await world.worker('w2', { slots: 2 });
  const polls = [worker.poll(), worker.poll()];
  await world.settle();
  await crash(first, 2);
  await world.advance(1_000);
  assert.equal(worker.holding.size, 1);
  await world.advance(30_000);
  await Promise.all(polls);
});

test('S-25: the next suspect comes as soon as the one before has ended', async () => {
  const world = await startWorld({ blueprints: [oneTask(fast)] });
  const first = await world.worker('w1', { slots: 2 });
  await createMany(world, 2);
  await first.take(2);
  await crash(first, 2);
  await world.advance(1_000);
  const worker = await world.worker('w2', { slots: 2 });
  const one = await worker.takeOne();
  const poll = worker.poll();
  await world.advance(500);
  await worker.report(one);
  const got = await Promise.race([poll, world.settle().then((): readonly Task[] => [])]);
  assert.equal(got.length, 1, 'the poll sleeps though the suspect may come');
});

test('B-013: a task that kills its worker is quarantined after three runs; others flow on', async () => {
  const world = await startWorld({
    blueprints: [
      oneTask({ retry: { max: 2, jitter: 0 } }, { name: 'poison', skill: 'poison' }),
      oneTask(),
    ],
  });
  const worker = await world.worker('w1', {
    slots: 2,
    batch: true,
    offer: { skills: ['poison', 'work'] },
  });
  const poison = await world.create('poison');
  let deliveries = 0;
  let done = 0;
  for (let round = 1; round <= 30; round += 1) {
    const other = await world.create('one-task');
    await world.advance(3_000);
    const tasks = await worker.take(8);
    const poisoned = tasks.some(({ jobId }) => jobId === poison);
    if (poisoned) {
      deliveries += 1;
      await crash(worker, round + 1);
    } else {
      for (const task of tasks) await worker.report(task);
    }
    if ((await world.job(other)).status === 'finished') done += 1;
  }
  const job = await world.job(poison);
  assert.equal(deliveries, 3);
  assert.equal(job.status, 'quarantined');
  assert.equal(job.error?.message, 'worker lost 3 times');
  assert.ok(done >= 26, `only ${done} of 30 others ended in their round`);
  const { jobs } = await world.truth.counts();
  assert.deepEqual({ ...jobs }, { finished: 30, quarantined: 1 });
});

test('B-013: the job of a poison task can be cancelled between two of its runs', async () => {
  const world = await startWorld({ blueprints: [oneTask({ retry: { max: 2, jitter: 0 } })] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await crash(worker, 2);
  await world.engine.jobs.cancel(id, 'tester', 'enough');
  await world.advance(10_000);
  assert.equal((await world.job(id)).status, 'cancelled');
  assert.deepEqual(await worker.take(), []);
  assert.deepEqual(await worker.report(task), { type: 'ignored', reason: 'job_cancelled' });
});

test('B-010: a task that is handed back goes to another worker at once and is counted', async () => {
  const world = await startWorld({ blueprints: [oneTask({ resultTimeout: '10m' })] });
  const [stopping, other] = [await world.worker('w1'), await world.worker('w2')];
  const id = await world.create('one-task');
  const task = await stopping.takeOne();
  const poll = other.poll();
  await world.advance(2_000);
  assert.deepEqual(await stopping.report(task, { handedBack: 'started' }), {
    type: 'accepted',
    transition: 'failure_handled',
  });
  const [again] = await poll;
  assert.equal(again?.jobId, id);
  assert.equal(again?.failures, 1);
  assert.equal(again?.resultAt, task.resultAt);
});

test('B-010: what was handed back unbegun is not counted', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  for (let round = 0; round < 10; round += 1) {
    await worker.report(await worker.takeOne(), { handedBack: 'not_started' });
  }
  const { failures, lostRuns } = await world.task(id);
  assert.deepEqual({ failures, lostRuns }, { failures: 0, lostRuns: 0 });
});

test('B-001: the late reports of a mute worker change nothing and are recorded', async () => {
  const world = await startWorld({ blueprints: [oneTask({ retry: { max: 1, jitter: 0 } })] });
  const mute = await world.worker('w1', { heartbeatMs: 1_000 });
  const other = await world.worker('w2');
  const id = await world.create('one-task');
  const first = await mute.takeOne();
  const poll = other.poll();
  await world.advance(5_000);
  const [second] = await poll;
  assert.equal(second?.attempts, 2);
  assert.ok(second !== undefined);
  assert.deepEqual(await mute.report(first, { data: { v: 1 } }), {
    type: 'ignored',
    reason: 'stale_task',
  });
  await other.report(second, { data: { v: 2 } });
  assert.deepEqual(await mute.report(first, { data: { v: 1 } }), {
    type: 'ignored',
    reason: 'job_already_terminated',
  });
  assert.equal((await mute.fail(first)).type, 'ignored');
  assert.deepEqual((await world.job(id)).result, { v: 2 });
  assert.equal((await world.entries(id, 'task_finished')).length, 1);
  assert.equal((await world.entries(id, 'report_refused')).length, 3);
  const entered = await world.entries(id, 'state_entered');
  assert.deepEqual(
    entered.map(({ state }) => state),
    ['ask', 'done'],
  );
  assert.notEqual(attemptOf(first), attemptOf(second));
});
