import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { Job } from '../core/job.ts';
import { child } from '../core/wait-actions.ts';
import { oneTask, type ScriptedWorker, startWorld, type World } from './fixtures.ts';

type Ends = 'ended' | 'bad' | 'late';

/** Starts a child and ends with how that ended. */
function parent(
  on: Readonly<Record<string, Ends>> = { success: 'ended', failure: 'bad', timeout: 'late' },
  { of = 'one-task', name = 'parent' } = {},
): Blueprint {
  return blueprint({
    name,
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['ended', 'bad', 'late'],
        handle: () => child(of, {}, { on, deadline: '1m' }),
      },
      ended: { end: true, handle: (job) => finish(structuredClone(job.answer) as never) },
      bad: { end: true, handle: (job) => finish(structuredClone(job.answer) as never) },
      late: { end: 'failed' },
    },
  });
}

async function begin(machines: readonly Blueprint[] = [parent(), oneTask()]) {
  const world = await startWorld({ blueprints: machines });
  const worker = await world.worker('w', { slots: 5, batch: true });
  const id = await world.create('parent');
  return { world, id, worker, childJob: await childOf(world, id) };
}

async function childOf(world: World, id: string): Promise<Job> {
  const { wait } = await world.job(id);
  assert(wait?.type === 'child', 'it waits for a child');
  return world.job(wait.jobId);
}

async function endOf({ world, id }: { world: World; id: string }): Promise<unknown> {
  await world.settle();
  const { state, result } = await world.job(id);
  return [state, (result as { name?: string } | null)?.name];
}

test('A-16 a child that finishes resumes its parent once, with its result', async () => {
  const { world, id, worker, childJob } = await begin();
  assert.equal((await world.job(id)).status, 'waiting_for_child');
  assert.deepEqual(childJob.parent, { jobId: id, depth: 1 });
  assert.equal(childJob.correlationId, (await world.job(id)).correlationId);
  await worker.report(await worker.takeOne(), { data: { answer: 42 } });
  await world.settle();
  const { result } = await world.job(id);
  assert.deepEqual(result, {
    name: 'finished',
    data: { job_id: childJob.id, result: { answer: 42 }, error: null },
  });
  assert.equal((await world.entries(id, 'child_ended')).length, 1);
});

const endings: readonly [
  string,
  (world: World, worker: ScriptedWorker, childId: string) => Promise<unknown>,
  string,
][] = [
  [
    'failed',
    async (_, worker) => worker.fail(await worker.takeOne(), 'INVALID_INPUT_ERROR'),
    'failed',
  ],
  ['cancelled', (world, _, id) => world.engine.jobs.cancel(id, 'ana', 'no'), 'cancelled'],
  [
    'quarantined',
    async (_, worker) => worker.fail(await worker.takeOne(), 'PERMANENT_ERROR'),
    'quarantined',
  ],
];

for (const [title, end, name] of endings) {
  test(`A-16 S-31 a child that is ${title} resumes its parent, as failure or by its own name`, async () => {
    const plain = await begin();
    await end(plain.world, plain.worker, plain.childJob.id);
    assert.deepEqual(await endOf(plain), ['bad', name]);
    const named = await begin([parent({ success: 'bad', [name]: 'ended' }), oneTask()]);
    await end(named.world, named.worker, named.childJob.id);
    assert.deepEqual(await endOf(named), ['ended', name]);
  });
}

test('S-31 an ending that nothing maps leads to failed, and says which', async () => {
  const { world, id, childJob } = await begin([parent({ success: 'ended' }), oneTask()]);
  await world.engine.jobs.cancel(childJob.id, 'ana', 'no');
  await world.settle();
  const { status, error } = await world.job(id);
  assert.deepEqual([status, error?.code], ['failed', 'CHILD_CANCELLED']);
});

test('A-16 S-31 B-031 a child that takes too long is cancelled, and the parent goes on as timeout', async () => {
  const { world, id, worker, childJob } = await begin();
  const task = await worker.takeOne();
  await world.advance(59_000);
  assert.equal((await world.job(id)).status, 'waiting_for_child');
  await world.advance(2_000);
  assert.equal((await world.job(id)).state, 'late');
  assert.equal((await world.job(childJob.id)).status, 'cancelled');
  assert.deepEqual(await worker.beat(), [task.attempt?.id]);
  assert.equal((await worker.report(task)).type, 'ignored');
});

test('A-16 B-031 cancelling the parent cancels child and grandchild; their worker is told', async () => {
  const { world, id, worker, childJob } = await begin([
    parent(undefined, { of: 'middle' }),
    parent(undefined, { name: 'middle' }),
    oneTask(),
  ]);
  const grandchild = await childOf(world, childJob.id);
  const task = await worker.takeOne();
  await world.engine.jobs.cancel(id, 'ana', 'not needed');
  await world.advance(1_000);
  assert.equal((await world.job(childJob.id)).status, 'cancelled');
  assert.equal((await world.job(grandchild.id)).status, 'cancelled');
  assert.deepEqual(await worker.beat(), [task.attempt?.id]);
  await world.advance(90_000);
  assert.equal((await world.job(id)).status, 'cancelled');
  assert.deepEqual(await world.truth.tasks([grandchild.id]), []);
});

test('B-031 the order to cancel survives a crash right after the parent’s end', async () => {
  const { world, id, childJob } = await begin();
  const release = world.stopAt('inbox');
  await world.engine.jobs.cancel(id, 'ana', 'not needed');
  world.kill();
  release();
  await world.boot();
  await world.advance(1_000);
  assert.equal((await world.job(childJob.id)).status, 'cancelled');
});

test('S-7 a redriven child runs detached: its parent has gone on', async () => {
  const { world, id, worker, childJob } = await begin();
  await worker.fail(await worker.takeOne(), 'PERMANENT_ERROR');
  await world.settle();
  assert.equal((await world.job(id)).status, 'finished');
  await world.engine.jobs.redrive(childJob.id, 'ana');
  await worker.report(await worker.takeOne());
  assert.equal((await world.job(childJob.id)).status, 'finished');
  assert.equal((await world.entries(id, 'child_ended')).length, 1);
});

test('A-16 two parents of one blueprint have each a child of its own', async () => {
  const { world, id, worker } = await begin();
  const other = await world.create('parent');
  for (const task of await worker.take(5)) await worker.report(task);
  await world.settle();
  assert.equal((await world.job(id)).state, 'ended');
  assert.equal((await world.job(other)).state, 'ended');
});

test('A-16 a crash between the child’s end and the parent’s loses nothing', async () => {
  const { world, id, worker } = await begin();
  const task = await worker.takeOne();
  const release = world.stopAt('inbox');
  await worker.report(task);
  world.kill();
  release();
  await world.boot();
  await world.advance(1_000);
  assert.equal((await world.job(id)).state, 'ended');
});

test('A-16 a child of a blueprint that nobody knows, or without end, fails the handler', async () => {
  const unknown = await startWorld({ blueprints: [parent(undefined, { of: 'nobody' })] });
  const id = await unknown.create('parent');
  const [entry] = await unknown.entries(id, 'handler_failed');
  assert.match(entry?.reason ?? '', /nobody/);
  const endless = await startWorld({ blueprints: [parent(undefined, { of: 'parent' })] });
  const first = await endless.create('parent');
  let depth = 0;
  for (let job = await endless.job(first); job.wait?.type === 'child'; depth += 1)
    job = await endless.job(job.wait.jobId);
  assert.equal(depth, 16);
});

test('A-16 a child that ends in the very step that starts it resumes its parent', async () => {
  const quick = blueprint({
    name: 'quick',
    version: 1,
    states: { single: { start: true, end: true, handle: () => fail('at once') } },
  });
  const { world, id } = await (async () => {
    const made = await startWorld({ blueprints: [parent(undefined, { of: 'quick' }), quick] });
    return { world: made, id: await made.create('parent') };
  })();
  assert.deepEqual(await endOf({ world, id }), ['bad', 'failed']);
});

test('A-16 a child’s task goes to a poll that waits, in the same commit', async () => {
  const world = await startWorld({ blueprints: [parent(), oneTask()] });
  const worker = await world.worker('w');
  const polled = worker.poll();
  await world.create('parent');
  await world.settle();
  assert.equal((await polled).length, 1);
});

test('S-64 A-16 a child that finds its key full waits for it, and the parent stands', async () => {
  const { world, id, worker } = await begin([
    parent(),
    oneTask({ concurrencyKey: { key: 'k', limit: 1 } }),
  ]);
  const second = await world.create('parent');
  assert.equal((await childOf(world, second)).status, 'waiting_for_timer');
  await worker.report(await worker.takeOne());
  await world.settle();
  await worker.report(await worker.takeOne());
  await world.settle();
  assert.deepEqual(
    [(await world.job(id)).state, (await world.job(second)).state],
    ['ended', 'ended'],
  );
});

test('A-16 a child whose attribute has a name that no index keeps is a failure of the handler', async () => {
  const attributes = { ['x'.repeat(201)]: 1 };
  const careless = blueprint({
    name: 'parent',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done'],
        handle: () => child('one-task', {}, { on: {}, attributes }),
      },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [careless, oneTask()] });
  const id = await world.create('parent');
  await world.settle();
  const book = JSON.stringify(await world.history(id));
  assert.match(book, /starts a child with an attribute whose name is longer than 200 characters/);
});
