import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, sleep, transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { child, parallel, stay, waitFor } from '../core/wait-actions.ts';
import { attemptOf, oneTask, startWorld } from './fixtures.ts';

test('A-31: why names for each worker the requirement that it fails', async () => {
  const world = await startWorld({
    blueprints: [
      oneTask({
        maxCost: 2,
        requirements: {
          devices: [{ type: 'gpu', properties: { vram_gb: 16 } }],
          software: { ffmpeg: '7' },
        },
      }),
    ],
  });
  const gpu = { type: 'gpu', model: 'G', properties: { vram_gb: 24 } };
  const fits = { devices: [gpu], software: { ffmpeg: '7' }, costPerSkill: { work: 1 } };
  const offers = {
    skill: { ...fits, skills: ['other'] },
    dear: { ...fits, costPerSkill: { work: 3 } },
    small: { ...fits, devices: [{ ...gpu, properties: { vram_gb: 8 } }] },
    old: { ...fits, software: { ffmpeg: '6' } },
    fits,
  };
  for (const [id, offer] of Object.entries(offers)) await world.worker(id, { offer });
  const id = await world.create('one-task');
  const { summary, status, task } = await world.engine.jobs.why(id);
  assert.equal(status, 'waiting_for_worker');
  assert.equal(summary, 'task "work" is queued and waits for a worker');
  const verdicts = new Map(task?.workers.map((worker) => [worker.id, worker.verdict]));
  assert.deepEqual(Object.fromEntries(verdicts), {
    skill: 'has no skill "work"',
    dear: 'asks 3 for "work" and the task allows at most 2',
    small: 'has no free device that meets {"properties":{"vram_gb":16},"type":"gpu"}',
    old: 'has ffmpeg 6, needs 7',
    fits: 'fits, and has not asked for work yet',
  });
});

test('A-31: a worker that fits but can take nothing is named with the reason', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const [busy, draining] = [await world.worker('busy'), await world.worker('draining')];
  const full = await world.worker('full');
  await world.create('one-task');
  await busy.takeOne();
  await draining.beat({ status: 'draining' });
  await full.beat({ status: 'full' });
  const id = await world.create('one-task');
  const { task } = await world.engine.jobs.why(id);
  assert.deepEqual(task?.workers, [
    { id: 'busy', verdict: 'fits, but is busy with 1 of 1 tasks' },
    { id: 'draining', verdict: 'fits, but is DRAINING' },
    { id: 'full', verdict: 'fits, but says that it is full' },
  ]);
});

test('A-31: why for a delayed task, a handed out one, and one in back-off', async () => {
  const world = await startWorld({ blueprints: [oneTask({ delay: '30s' })] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const why = async (): Promise<string> => (await world.engine.jobs.why(id)).summary;
  await world.advance(10_000);
  assert.equal(await why(), 'task "work" is planned, which is due in 20s');
  await world.advance(20_000);
  const task = await worker.takeOne();
  await world.advance(5_000);
  assert.equal(await why(), 'worker w1 has had attempt 1 of "work" for 5s (ASSIGNED)');
  const { task: shown, deadlines } = await world.engine.jobs.why(id);
  assert.deepEqual([shown?.worker, shown?.workers], ['w1', []]);
  assert.deepEqual(
    deadlines.map(({ name }) => name),
    ['execution'],
  );
  await worker.fail(task);
  assert.equal(
    await why(),
    'task "work" is planned, which is due in 1s; last time: TRANSIENT_ERROR: no luck',
  );
  assert.notEqual(attemptOf(task), '');
});

test('A-31: why for a timer, a running handler, a handler without a home, and a retry', async () => {
  let calls = 0;
  const waits = blueprint({
    name: 'waits',
    version: 1,
    states: {
      nap: { start: true, to: ['think'], handle: () => sleep('1m', 'think') },
      think: {
        to: ['done'],
        timeout: '1h',
        retry: { jitter: 0 },
        run: async () => {
          calls += 1;
          if (calls === 1) throw new Error('not yet');
          await new Promise<void>((resolve) => world.clock.after(30_000, resolve));
          return transition('done');
        },
      },
      done: { end: true, handle: () => finish() },
    },
  });
  const world = await startWorld({ blueprints: [waits, oneTask()] });
  const id = await world.create('waits');
  const why = async (): Promise<string> => (await world.engine.jobs.why(id)).summary;
  assert.equal(await why(), 'it waits for its timer, which is due in 1m');
  await world.advance(60_000);
  assert.equal(
    await why(),
    'the handler of state "think" has failed and runs again in 1s; last time: not yet',
  );
  await world.advance(1_000);
  assert.equal(await why(), 'the handler of state "think" runs on instance server-1');
  await world.advance(31_000);
  assert.equal(await why(), 'the job has finished');
});

test('A-31: why for a held job says so, and calls it no bug', async () => {
  const runs = blueprint({
    name: 'runs',
    version: 1,
    states: {
      nap: { start: true, to: ['think'], handle: () => sleep('1m', 'think') },
      think: { to: ['done'], run: async () => transition('done') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [runs, oneTask()] });
  const [running, queued] = [await world.create('runs'), await world.create('one-task')];
  for (const id of [running, queued]) await world.engine.jobs.hold(id, 'tester');
  await world.advance(61_000);
  assert.equal(
    (await world.engine.jobs.why(running)).summary,
    'an operator holds the job; the handler of state "think" begins when it is released',
  );
  assert.equal(
    (await world.engine.jobs.why(queued)).summary,
    'an operator holds the job; task "work" goes to the queue when it is released',
  );
});

test('A-31: why for ended, parked and unknown jobs', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const parked = await world.create('one-task');
  await worker.fail(await worker.takeOne(), 'PERMANENT_ERROR');
  assert.match(
    (await world.engine.jobs.why(parked)).summary,
    /parked: no luck \(PERMANENT_ERROR\)/,
  );
  await world.engine.jobs.cancel(parked, 'tester', 'enough');
  const { summary } = await world.engine.jobs.why(parked);
  assert.equal(summary, 'the job has been cancelled: enough (CANCELLED)');
  await assert.rejects(world.engine.jobs.why('nobody'), { code: 'JOB_NOT_FOUND' });
});

const fanOut = blueprint({
  name: 'fan-out',
  version: 1,
  states: {
    split: {
      start: true,
      to: ['merge'],
      handle: () => {
        const on = { success: 'merge' } as const;
        const late = dispatch('raed', {}, { on, delay: '1m' });
        return parallel([...['work', 'raed'].map((skill) => dispatch(skill, {}, { on })), late], {
          to: 'merge',
        });
      },
    },
    merge: { aggregate: true, to: ['done'], handle: () => transition('done') },
    done: { end: true },
  },
});

test('A-31: why for a fan-out names for each skill what keeps the workers', async () => {
  const world = await startWorld({ blueprints: [fanOut] });
  const worker = await world.worker('w1');
  const id = await world.create('fan-out');
  assert.deepEqual((await world.engine.jobs.why(id)).tasks, [
    {
      skill: 'work',
      pending: 1,
      running: 0,
      holders: [],
      workers: [{ id: 'w1', verdict: 'fits, and has not asked for work yet' }],
    },
    {
      skill: 'raed',
      pending: 2,
      running: 0,
      holders: [],
      workers: [{ id: 'w1', verdict: 'has no skill "raed"' }],
    },
  ]);
  await worker.takeOne();
  const { summary, task, tasks } = await world.engine.jobs.why(id);
  assert.equal(
    summary,
    'it waits for 3 of 3 tasks of its fan-out: 1 queued, 1 planned, 1 with a worker',
  );
  assert.equal(task, null);
  assert.deepEqual(tasks[1], {
    skill: 'work',
    pending: 0,
    running: 1,
    holders: ['w1'],
    workers: [],
  });
});

test('A-31: why for a child says what that one waits for', async () => {
  const parent = blueprint({
    name: 'parent',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done'],
        handle: () => child('one-task', {}, { on: { success: 'done' }, deadline: '1h' }),
      },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [parent, oneTask()] });
  const id = await world.create('parent');
  const why = await world.engine.jobs.why(id);
  assert.equal(why.summary, `it waits for child ${why.child?.id}; its deadline is in 1h`);
  assert.equal(why.child?.status, 'waiting_for_worker');
  assert.equal(why.child?.summary, 'task "work" is queued and waits for a worker');
});

test('A-31: why names the signals of the wait, of the state and of its parents', async () => {
  const parcels = blueprint({
    name: 'parcels',
    version: 1,
    states: {
      open: { on: { lost: 'done' }, to: ['done'], handle: () => transition('done') },
      under_way: {
        start: true,
        parent: 'open',
        to: ['nap'],
        on: { located: stay(), shipped: 'nap' },
        handle: () =>
          waitFor({
            on: { signed: 'done', silence: 'done' },
            silence: { after: '1m', resetBy: ['seen'] },
            deadline: '1h',
          }),
      },
      nap: { to: ['done'], on: { lost: 'done' }, handle: () => sleep('1m', 'done') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [parcels] });
  const id = await world.create('parcels');
  const { summary, signals } = await world.engine.jobs.why(id);
  assert.deepEqual(signals, ['signed', 'located', 'shipped', 'lost', 'seen']);
  assert.equal(
    summary,
    'it waits for signals signed, located, shipped, lost, seen; it counts as silent in 1m',
  );
  const sent = { client: 'client-1', to: { jobId: id }, id: 's', data: null, actor: 'bot' };
  await world.engine.signals.send([{ ...sent, name: 'shipped' }]);
  const napping = await world.engine.jobs.why(id);
  assert.equal(
    napping.summary,
    'it waits for its timer, which is due in 1m; it takes signals lost',
  );
  await world.advance(60_001);
  assert.deepEqual((await world.engine.jobs.why(id)).signals, []);
});
