import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, oneTask, startWorld } from './fixtures.ts';

/** Two that want to change the same thing, and reports that come at the wrong moment. */

async function begin(options: Parameters<typeof oneTask>[0] = {}) {
  const world = await startWorld({ blueprints: [oneTask(options)] });
  const worker = await world.worker('w');
  const id = await world.create('one-task');
  return { world, worker, id };
}

async function outcomes(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => (one.status === 'fulfilled' ? 'done' : one.reason.code));
}

test('H-50 two clients race for one transition: one wins, the other gets a conflict', async () => {
  const { world, id } = await begin();
  const { jobs } = world.engine;
  const release = world.stopAt('commit');
  const ends = outcomes([jobs.cancel(id, 'a', 'mine'), jobs.cancel(id, 'b', 'mine')]);
  await world.settle();
  release();
  assert.deepEqual(await ends, ['done', 'ALREADY_FINAL']);
  const entries = await world.entries(id, 'job_cancelled');
  assert.deepEqual(
    entries.map(({ actor }) => actor),
    ['a'],
  );
});

test('H-kk a cancel that meets a result: the first commit wins, and the other is told so', async () => {
  for (const first of ['result', 'cancel']) {
    const { world, worker, id } = await begin();
    const task = await worker.takeOne();
    const release = world.stopAt('commit');
    const result = () => worker.report(task);
    const cancel = () =>
      world.engine.jobs.cancel(id, 'tester', 'enough').then(
        () => 'cancelled',
        ({ code, details }) => [code, details.status],
      );
    const race = first === 'result' ? [result(), cancel()] : [cancel(), result()];
    await world.settle();
    release();
    const answers = await Promise.all<unknown>(race);
    const { status } = await world.job(id);
    if (first === 'result') {
      assert.equal(status, 'finished');
      assert.deepEqual(answers[1], ['ALREADY_FINAL', 'finished']);
    } else {
      assert.equal(status, 'cancelled');
      assert.deepEqual(answers, ['cancelled', { type: 'ignored', reason: 'job_cancelled' }]);
    }
  }
});

test('H-kk a job can be cancelled while its task is ASSIGNED, SCHEDULED or RUNNING; its worker is told', async () => {
  for (const status of ['ASSIGNED', 'SCHEDULED', 'RUNNING'] as const) {
    const bound = status === 'SCHEDULED' ? { requirements: { worker: 'w' } } : {};
    const { world, worker, id } = await begin(bound);
    const task = await worker.takeOne();
    if (status === 'RUNNING') await worker.beat({ currentTasks: [attemptOf(task)] });
    assert.equal((await world.task(id)).status, status);
    await world.engine.jobs.cancel(id, 'tester', 'enough');
    assert.equal((await world.job(id)).status, 'cancelled');
    assert.deepEqual(await worker.beat(), [attemptOf(task)]);
    assert.equal((await worker.report(task)).type, 'ignored');
  }
});

test('H-ii a result before the first sign of work is that sign, too: RUNNING and the end in one commit', async () => {
  const { world, worker, id } = await begin();
  const task = await worker.takeOne();
  const before = world.commits.length;
  assert.equal((await worker.report(task)).type, 'accepted');
  assert.equal(world.commits.length - before, 1);
  assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED RUNNING SUCCEEDED');
});

test('H-ii a result never ends what is PENDING: its attempt has come back already', async () => {
  const { world, worker, id } = await begin();
  const task = await worker.takeOne();
  await world.engine.workers.undelivered('w', [task]);
  assert.deepEqual(await worker.report(task), { type: 'ignored', reason: 'stale_task' });
  assert.equal((await world.task(id)).status, 'PENDING');
  assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED FAILED PENDING');
});

test('H-jj the same result twice, one after the other and at once: the second is ignored and changes nothing', async () => {
  const { world, worker, id } = await begin();
  const task = await worker.takeOne();
  const release = world.stopAt('commit');
  const both = [worker.report(task, { data: { n: 1 } }), worker.report(task, { data: { n: 2 } })];
  await world.settle();
  release();
  const types = (await Promise.all(both)).map(({ type }) => type);
  assert.deepEqual(types, ['accepted', 'ignored']);
  const job = await world.job(id);
  assert.deepEqual(await worker.report(task, { data: { n: 3 } }), {
    type: 'ignored',
    reason: 'job_already_terminated',
  });
  assert.deepEqual(await world.job(id), job);
  assert.deepEqual(job.data, { n: 1 });
  assert.equal((await world.entries(id, 'task_finished')).length, 1);
});

test('H-i what is RUNNING ends at its execution limit though its worker lives, and by silence where it does not', async () => {
  const { world, worker, id } = await begin();
  const task = await worker.takeOne();
  for (let beat = 0; beat < 30; beat += 1) {
    await worker.beat({ currentTasks: [attemptOf(task)] });
    assert.equal((await world.job(id)).status, 'waiting_for_worker', `after ${beat * 10} s`);
    await world.advance(10_000);
  }
  assert.match(await world.taskSteps(id), /RUNNING TIMEOUT$/);
  const other = await begin();
  await other.worker.register({ heartbeatMs: 20_000 });
  const lost = await other.worker.takeOne();
  await other.worker.beat({ currentTasks: [attemptOf(lost)] });
  await other.world.advance(61_000);
  assert.match(await other.world.taskSteps(other.id), /RUNNING FAILED PENDING$/);
});

test('H-i what is PENDING waits as long as it takes, or to its dispatch timeout where it has one', async () => {
  const patient = await begin();
  const hasty = await begin({ dispatchTimeout: '1m' });
  for (const { world } of [patient, hasty]) await world.advance(59_000);
  assert.equal((await hasty.world.task(hasty.id)).status, 'PENDING');
  for (const { world } of [patient, hasty]) await world.advance(7 * 86_400_000);
  assert.equal((await patient.world.task(patient.id)).status, 'PENDING');
  assert.equal(await hasty.world.taskSteps(hasty.id), 'PENDING CANCELLED');
});
