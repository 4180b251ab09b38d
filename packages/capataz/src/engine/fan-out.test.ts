import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { Task } from '../core/job.ts';
import { parallel } from '../core/wait-actions.ts';
import type { JsonObject } from '../std/json.ts';
import { type ScriptedWorker, startWorld, type World } from './fixtures.ts';

/** Dispatches the branches that the input names; the aggregator ends with what it saw. */
function fanOut(
  options: { readonly then?: string; readonly dispatchTimeout?: '5s' } = {},
): Blueprint {
  const { then = 'quarantine', dispatchTimeout } = options;
  return blueprint({
    name: 'fan-out',
    version: 1,
    states: {
      split: {
        start: true,
        to: ['merge', 'stopped'],
        handle: (job) =>
          parallel(
            ((job.input as JsonObject).branches as string[]).map((skill) =>
              dispatch(
                skill,
                {},
                {
                  on: { success: 'merge', stop: 'stopped' },
                  retry: { max: 1, base: '1s', jitter: 0, then },
                  ...(dispatchTimeout === undefined ? {} : { dispatchTimeout }),
                },
              ),
            ),
            { to: 'merge' },
          ),
      },
      merge: {
        aggregate: true,
        to: ['done'],
        handle: (job) => {
          job.data.runs = Number(job.data.runs ?? 0) + 1;
          return finish({ results: structuredClone(job.results ?? {}) as never });
        },
      },
      stopped: { end: true },
      done: { end: true },
    },
  });
}

const skills = ['a', 'b', 'c'];

async function begin(
  branches: readonly string[],
  machine = fanOut(),
): Promise<{ world: World; id: string; worker: ScriptedWorker }> {
  const world = await startWorld({ blueprints: [machine] });
  const worker = await world.worker('w', { slots: 10, batch: true, offer: { skills } });
  const id = await world.create('fan-out', { input: { branches: [...branches] } });
  return { world, id, worker };
}

async function resultsOf(world: World, id: string): Promise<JsonObject[]> {
  const { result } = await world.job(id);
  return Object.values((result as { results: Record<string, JsonObject> }).results);
}

function of(tasks: readonly Task[], skill: string): Task {
  const task = tasks.find((one) => one.spec.skill === skill);
  assert(task !== undefined, `nobody was given ${skill}`);
  return task;
}

test('A-17 the aggregator runs once, after all branches, with the whole result of each by task id', async () => {
  const { world, id, worker } = await begin(['a', 'b', 'c']);
  const tasks = await worker.take(10);
  for (const task of tasks) {
    assert.equal((await world.job(id)).status, 'waiting_for_parallel');
    await worker.report(task, { data: { by: task.spec.skill } });
  }
  await world.settle();
  const job = await world.job(id);
  assert.equal(job.status, 'finished');
  assert.equal(job.data.runs, 1);
  const { results } = job.result as { results: JsonObject };
  assert.deepEqual(new Set(Object.keys(results)), new Set(tasks.map((task) => task.id)));
  const inOrder = Object.values(results) as JsonObject[];
  assert.deepEqual(
    inOrder.map(({ index, skill, status, data }) => [index, skill, status, data]),
    skills.map((skill, index) => [index, skill, 'success', { by: skill }]),
  );
});

test('A-17 a branch’s failure follows its own retry rule first', async () => {
  const { world, id, worker } = await begin(['a', 'b']);
  const tasks = await worker.take(10);
  await worker.report(of(tasks, 'b'));
  await worker.fail(of(tasks, 'a'));
  await world.advance(1_000);
  await worker.report(await worker.takeOne());
  await world.settle();
  assert.equal((await world.job(id)).status, 'finished');
  assert.equal((await resultsOf(world, id)).length, 2);
});

test('S-30 branches never raise the job’s version; only the last one makes it move', async () => {
  const { world, id, worker } = await begin(['a', 'b', 'c']);
  const tasks = await worker.take(10);
  const { version } = await world.job(id);
  const reports = tasks.slice(0, 2).map((task) => [task, {}] as const);
  await worker.reportAll(reports, 0);
  assert.equal((await world.job(id)).version, version);
  await worker.report(tasks[2] as Task);
  await world.settle();
  assert.equal((await world.job(id)).version, version + 1);
});

test('S-30 a hundred branches that end in one post are all collected', async () => {
  const world = await startWorld({ blueprints: [fanOut()] });
  const worker = await world.worker('w', { slots: 100, batch: true, offer: { skills } });
  const id = await world.create('fan-out', { input: { branches: Array(100).fill('a') } });
  const tasks = await worker.take(100);
  assert.equal(tasks.length, 100);
  const { answers } = await worker.reportAll(
    tasks.map((task) => [task, {}]),
    0,
  );
  assert.ok(answers.every(({ type }) => type === 'accepted'));
  await world.settle();
  assert.equal((await resultsOf(world, id)).length, 100);
});

test('S-30 no tasks at all run the aggregator at once', async () => {
  const { world, id } = await begin([]);
  assert.deepEqual(await resultsOf(world, id), []);
});

test('S-30 a mapped status other than success stops the rest at once', async () => {
  const { world, id, worker } = await begin(['a', 'b']);
  const tasks = await worker.take(10);
  await worker.report(of(tasks, 'a'), { status: 'stop' });
  const job = await world.job(id);
  assert.deepEqual([job.status, job.state], ['finished', 'stopped']);
  assert.deepEqual(await worker.beat(), [of(tasks, 'b').attempt?.id]);
});

test('S-30 a status that nothing maps is collected', async () => {
  const { world, id, worker } = await begin(['a', 'b']);
  const tasks = await worker.take(10);
  await worker.report(of(tasks, 'a'), { status: 'odd', data: 1 });
  await worker.report(of(tasks, 'b'));
  await world.settle();
  assert.deepEqual(
    (await resultsOf(world, id)).map(({ status }) => status),
    ['odd', 'success'],
  );
});

test('S-30 B-024 a branch that is given up parks the job, the others are collected, a redrive completes it', async () => {
  const { world, id, worker } = await begin(['a', 'b']);
  const tasks = await worker.take(10);
  await worker.fail(of(tasks, 'a'), 'PERMANENT_ERROR');
  const parked = await world.job(id);
  assert.equal(parked.status, 'quarantined');
  assert.match(parked.error?.message ?? '', /no luck/);
  assert.equal((await worker.report(of(tasks, 'b'), { data: 'kept' })).type, 'accepted');
  await world.settle();
  assert.equal((await world.job(id)).status, 'quarantined');
  await world.engine.jobs.redrive(id, 'operator');
  await worker.report(await worker.takeOne());
  await world.settle();
  assert.equal((await world.job(id)).status, 'finished');
  assert.deepEqual(
    (await resultsOf(world, id)).map(({ data }) => data),
    [null, 'kept'],
  );
});

test('B-024 an unknown status and a dispatch timeout leave the wait by the documented rule', async () => {
  const { world, id, worker } = await begin(['a', 'nobody'], fanOut({ dispatchTimeout: '5s' }));
  await worker.report(await worker.takeOne(), { status: 'never heard of' });
  await world.advance(6_000);
  const job = await world.job(id);
  assert.equal(job.status, 'finished');
  assert.deepEqual(
    (await resultsOf(world, id)).map(({ status, error }) => [status, (error as JsonObject)?.code]),
    [
      ['never heard of', undefined],
      ['timeout', 'DISPATCH_TIMEOUT'],
    ],
  );
});

test('B-025 B-024 INVALID_INPUT_ERROR fails the job: the queued sibling is gone, the running one is told, its report refused', async () => {
  const { world, id, worker } = await begin(['a', 'b', 'nobody']);
  const tasks = await worker.take(10);
  await worker.fail(of(tasks, 'a'), 'INVALID_INPUT_ERROR');
  const job = await world.job(id);
  assert.equal(job.status, 'failed');
  assert.match(job.error?.message ?? '', /no luck/);
  assert.deepEqual(await world.truth.tasks([id]), []);
  assert.deepEqual(await worker.beat(), [of(tasks, 'b').attempt?.id]);
  assert.equal((await worker.report(of(tasks, 'b'))).type, 'ignored');
  await world.advance(60_000);
  assert.deepEqual(await world.entries(id, 'fan_out_ended'), []);
  assert.equal((await world.workerState('w'))?.load, 0);
});

test('B-029 the aggregator waits for precisely the tasks that were dispatched: all seven subsets', async () => {
  for (let subset = 1; subset < 8; subset += 1) {
    const branches = skills.filter((_, index) => subset & (1 << index));
    const { world, id, worker } = await begin(branches);
    for (const task of await worker.take(10)) await worker.report(task);
    await world.settle();
    assert.deepEqual(
      (await resultsOf(world, id)).map(({ skill }) => skill),
      branches,
    );
  }
});

test('A-17 a crash before the last branch is looked at loses nothing', async () => {
  const { world, id, worker } = await begin(['a', 'b']);
  for (const task of await worker.take(10)) {
    const release = world.stopAt('inbox');
    await worker.report(task);
    world.kill();
    release();
    await world.boot();
    await worker.register();
  }
  await world.advance(1_000);
  assert.equal((await world.job(id)).status, 'finished');
});

test('B-024 spent retries of a branch may lead to a state, which stops the rest', async () => {
  const { world, id, worker } = await begin(['a', 'b'], fanOut({ then: 'stopped' }));
  const tasks = await worker.take(10);
  await worker.fail(of(tasks, 'a'));
  await world.advance(1_000);
  await worker.fail(of(await worker.take(1), 'a'));
  assert.equal((await world.job(id)).state, 'stopped');
  assert.deepEqual(await worker.beat(), [of(tasks, 'b').attempt?.id]);
});
