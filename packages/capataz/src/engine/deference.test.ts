import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneTask, type ScriptedWorker, startTwo, type World } from './fixtures.ts';

const exact = oneTask({ retry: { jitter: 0, base: '1ms' } });
const warm = { offer: { hotSkills: ['work'] } };

/** A cold worker that polls one instance, and a warm one that is known at the other. */
async function begin(): Promise<{
  readonly one: World;
  readonly cold: ScriptedWorker;
  readonly hot: ScriptedWorker;
}> {
  const [one, two] = await startTwo({ blueprints: [exact] });
  const cold = await one.worker('cold', { slots: 100 });
  const hot = await two.worker('hot', { slots: 1, ...warm });
  await one.advance(50);
  // Who stands idle elsewhere is looked up with the first task.
  const first = cold.poll();
  await one.create('one-task');
  await one.advance(50);
  assert.equal((await first).length, 1);
  return { one, cold, hot };
}

test('S-41 two instances: a task is left to the better worker that waits at the other', async () => {
  const { one, cold, hot } = await begin();
  const [coldPoll, hotPoll] = [cold.poll({ timeoutMs: 5_000 }), hot.poll()];
  await one.advance(10);
  const id = await one.create('one-task');
  await one.advance(19);
  assert.equal((await hotPoll)[0]?.jobId, id);
  await one.advance(5_000);
  assert.deepEqual(await coldPoll, []);
  const [assigned] = await one.entries(id, 'task_assigned');
  assert.equal(assigned?.worker, 'hot');
});

test('S-41 two instances: when the better one does not come in 20 ms, anyone has it; and it is not waited for again', async () => {
  const { one, cold } = await begin();
  const poll = cold.poll();
  await one.advance(10);
  await one.create('one-task');
  await one.advance(19);
  assert.equal((await one.truth.counts()).queued, 1);
  await one.advance(1);
  assert.equal((await poll).length, 1);
  const next = cold.poll();
  await one.settle();
  await one.create('one-task');
  await one.settle();
  assert.equal((await next).length, 1, 'at once');
  await one.advance(1_000);
  const later = cold.poll();
  await one.settle();
  await one.create('one-task');
  await one.settle();
  assert.equal((await one.truth.counts()).queued, 1, 'after a second it may have come back');
  await one.advance(20);
  assert.equal((await later).length, 1);
});

test('S-41 two instances: a poll that comes for a task which is being left waits its 20 ms, too', async () => {
  const { one, cold } = await begin();
  const poll = cold.poll();
  await one.advance(10);
  await one.create('one-task');
  const other = await one.worker('other');
  await one.advance(5);
  const second = other.poll();
  await one.advance(5);
  assert.equal((await one.truth.counts()).queued, 1);
  await one.advance(15);
  assert.equal((await Promise.race([poll, second])).length, 1);
});

test('S-41 two instances: a busy worker elsewhere, or one that is gone, is not waited for', async () => {
  const { one, cold, hot } = await begin();
  const isServedAtOnce = async (): Promise<boolean> => {
    const poll = cold.poll();
    await one.settle();
    await one.create('one-task');
    await one.settle();
    const { queued } = await one.truth.counts();
    await one.advance(20);
    assert.equal((await poll).length, 1);
    return queued === 0;
  };
  await one.create('one-task');
  await one.advance(1_000);
  const task = await hot.takeOne();
  await one.advance(1_000);
  // Who stands idle is looked up now, and serves the next one.
  await isServedAtOnce();
  assert.equal(await isServedAtOnce(), true, 'busy');
  await hot.report(task);
  await hot.beat({ status: 'offline', currentTasks: [] });
  await one.advance(1_000);
  await isServedAtOnce();
  assert.equal(await isServedAtOnce(), true, 'gone');
});
