import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { oneTask, startWorld, storeWith } from './fixtures.ts';

function sleeper(duration: string, name = 'sleeper') {
  return blueprint({
    name,
    version: 1,
    states: {
      nap: { start: true, to: ['done'], handle: () => sleep(duration, 'done') },
      done: { end: true },
    },
  });
}

test('A-41: deadlines fire once and at most 1 s late', async () => {
  const durations = ['1ms', '999ms', '1s', '29s', '31s', '90s', '10m', '3h'];
  const world = await startWorld({
    blueprints: durations.map((duration) => sleeper(duration, `nap-${duration}`)),
  });
  const began = await world.truth.now();
  const ids = new Map<string, string>();
  for (const duration of durations) ids.set(await world.create(`nap-${duration}`), duration);
  await world.advance(3 * 3_600_000 + 1_000);
  for (const [id, duration] of ids) {
    const entries = await world.history(id);
    const ends = entries.filter(({ type, state }) => type === 'state_entered' && state === 'done');
    const set = entries.find(({ type }) => type === 'timer_set');
    assert.equal(ends.length, 1, duration);
    const lateMs = (ends[0]?.at ?? 0) - began - (set?.delayMs ?? 0);
    assert.ok(lateMs >= 0 && lateMs <= 1_000, `${duration} was ${lateMs} ms late`);
  }
});

test('A-41: 1,200 deadlines of one instant fire once each, in time', async () => {
  const world = await startWorld({ blueprints: [sleeper('10s')] });
  const requests = Array.from({ length: 1_200 }, () => ({
    blueprint: 'sleeper',
    client: 'client-1',
    input: {},
  }));
  await world.engine.jobs.create(requests);
  await world.advance(10_500);
  const { jobs } = await world.truth.counts();
  assert.deepEqual({ ...jobs }, { finished: 1_200 });
});

test('A-41: deadlines survive a restart, those that fell due meanwhile fire at once', async () => {
  const world = await startWorld({ blueprints: [sleeper('1m'), sleeper('1h', 'long')] });
  const [short, long] = [await world.create('sleeper'), await world.create('long')];
  await world.advance(30_000);
  world.kill();
  await world.advance(120_000);
  assert.equal((await world.job(short)).status, 'waiting_for_timer');
  await world.boot();
  await world.settle();
  assert.equal((await world.job(short)).status, 'finished');
  await world.advance(3_600_000 - 150_000 - 1);
  assert.equal((await world.job(long)).status, 'waiting_for_timer');
  await world.advance(1_001);
  assert.equal((await world.job(long)).status, 'finished');
  assert.equal((await world.entries(short, 'job_finished')).length, 1);
});

test('A-41: a deadline that is set while the next one is being looked for is not overslept', async () => {
  const world = await startWorld({ blueprints: [sleeper('50ms')] });
  await world.advance(29_000);
  const release = world.stopAt('due');
  await world.advance(2_000);
  const blocked = world.stopAt('commit');
  release();
  blocked();
  const again = world.stopAt('due');
  const id = await world.create('sleeper');
  await world.advance(100);
  again();
  await world.advance(1_000);
  assert.equal((await world.job(id)).status, 'finished');
});

test('A-41: a deadline that rings while a look is under way is looked for again', async () => {
  let reads = 0;
  const world = await startWorld({
    blueprints: [sleeper('50ms')],
    // A read that takes long, and answers what was true when it began.
    wrapStore: (store) =>
      storeWith(store, {
        due: async (limit: number) => {
          const page = await store.due(limit);
          reads += 1;
          if (reads > 1) await new Promise<void>((resolve) => world.clock.after(200, resolve));
          return page;
        },
      }),
  });
  await world.advance(30_050);
  const id = await world.create('sleeper');
  await world.advance(1_100);
  assert.equal((await world.job(id)).status, 'finished');
});

test('A-41: a deadline that nothing can be done about is looked at once a second', async () => {
  let looks = 0;
  let stuck = '';
  const world = await startWorld({
    blueprints: [oneTask(), sleeper('5500ms')],
    // Names a deadline that the job does not have.
    wrapStore: (store) =>
      storeWith(store, {
        due: async (limit: number) => {
          looks += 1;
          const page = await store.due(limit);
          const at = await store.now();
          const ghost = { type: 'timer', jobId: stuck, taskId: null, name: 'wake', at } as const;
          return { ...page, due: [ghost, ...page.due] };
        },
      }),
  });
  stuck = await world.create('one-task');
  const id = await world.create('sleeper');
  await world.advance(10_000);
  assert.ok(looks >= 9 && looks <= 14, `${looks} looks in 10 s`);
  const [end] = await world.entries(id, 'job_finished');
  const [begin] = await world.history(id);
  const lateMs = (end?.at ?? 0) - (begin?.at ?? 0) - 5_500;
  assert.ok(lateMs >= 0 && lateMs <= 1_000, `the other one was ${lateMs} ms late`);
});

test('A-23 S-21: a spent dispatch timeout cancels the task and takes the timeout path', async () => {
  const world = await startWorld({ blueprints: [oneTask({ dispatchTimeout: '30s' })] });
  const id = await world.create('one-task');
  await world.advance(29_999);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
  await world.advance(1_001);
  const job = await world.job(id);
  assert.deepEqual(
    [job.status, job.state, job.error?.code],
    ['failed', 'late', 'DISPATCH_TIMEOUT'],
  );
  assert.equal(await world.taskSteps(id), 'PENDING CANCELLED');
});

test('A-23 S-22: without a dispatch timeout a job waits for a worker for as long as it takes', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const id = await world.create('one-task');
  await world.advance(6 * 3_600_000);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
  const worker = await world.worker('w1');
  assert.equal((await worker.takeOne()).jobId, id);
});

test('A-23: the dispatch timeout ends with the hand-out', async () => {
  const world = await startWorld({ blueprints: [oneTask({ dispatchTimeout: '30s' })] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  const [causes] = await world.truth.causes({ id });
  assert.deepEqual(
    causes?.timers.map(({ name }) => name),
    ['execution'],
  );
  await world.advance(120_000);
  assert.equal((await worker.report(task)).type, 'accepted');
});

test('A-24 S-21 S-22: a result deadline runs from the dispatch over all retries', async () => {
  const world = await startWorld({ blueprints: [oneTask({ resultTimeout: '1m' })] });
  const worker = await world.worker('w1');
  const began = await world.truth.now();
  const id = await world.create('one-task');
  await world.advance(20_000);
  const first = await worker.takeOne();
  assert.equal(first.resultAt, began + 60_000);
  await world.advance(20_000);
  await worker.fail(first);
  await world.advance(10_000);
  const second = await worker.takeOne();
  assert.equal(second.resultAt, began + 60_000);
  await world.advance(9_999);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
  await world.advance(1_001);
  const job = await world.job(id);
  assert.deepEqual([job.status, job.state, job.error?.code], ['failed', 'late', 'RESULT_TIMEOUT']);
  assert.match(await world.taskSteps(id), /PENDING ASSIGNED FAILED PENDING ASSIGNED TIMEOUT$/);
  assert.equal((await worker.report(second)).type, 'ignored');
  assert.equal((await world.job(id)).version, job.version);
  assert.equal((await world.entries(id, 'report_refused')).length, 1);
});

test('S-22: without a result timeout the execution limit runs anew from each hand-out', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  await world.advance(1_000_000);
  const first = await worker.takeOne();
  assert.equal(first.resultAt, null);
  await world.advance(299_000);
  await worker.fail(first);
  await world.advance(1_000);
  await worker.takeOne();
  await world.advance(299_999);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
  await world.advance(1_001);
  const job = await world.job(id);
  assert.deepEqual([job.status, job.error?.code], ['failed', 'EXECUTION_LIMIT']);
  assert.match(await world.taskSteps(id), /ASSIGNED TIMEOUT$/);
});

test('S-22: the deadlines of the request count where the blueprint names none', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const queued = await world.create('one-task', { dispatchTimeoutMs: 5_000 });
  await world.advance(6_000);
  assert.equal((await world.job(queued)).error?.code, 'DISPATCH_TIMEOUT');
  const late = await world.create('one-task', { resultTimeoutMs: 5_000 });
  await world.advance(6_000);
  assert.equal((await world.job(late)).error?.code, 'RESULT_TIMEOUT');
});

test('B-006 S-22: a delay of 90 s with timeouts of 10 s: handed out once, and not before', async () => {
  const world = await startWorld({
    blueprints: [oneTask({ delay: '90s', dispatchTimeout: '10s', resultTimeout: '10s' })],
  });
  const workers = [
    await world.worker('w1', { heartbeatMs: 3_000 }),
    await world.worker('w2', { heartbeatMs: 3_000 }),
  ];
  const id = await world.create('one-task');
  for (const worker of workers) worker.keepBeating();
  const polls = workers.map((worker) => worker.poll({ timeoutMs: 200_000 }));
  await world.advance(89_999);
  assert.equal((await world.task(id)).status, 'PENDING');
  await world.advance(2_000);
  const [assigned, ...others] = await world.entries(id, 'task_assigned');
  const [created] = await world.history(id);
  assert.equal(others.length, 0);
  const afterMs = (assigned?.at ?? 0) - (created?.at ?? 0);
  assert.ok(afterMs >= 90_000 && afterMs <= 91_000, `handed out after ${afterMs} ms`);
  const task = await world.task(id);
  assert.equal(task.resultAt, (created?.at ?? 0) + 100_000);
  const holder = workers.find((worker) => worker.id === task.attempt?.worker);
  assert.ok(holder !== undefined);
  await holder.report(task);
  await world.advance(120_000);
  await Promise.all(polls);
  assert.equal((await world.job(id)).status, 'finished');
});

test('B-006: a back-off holds a task back from idle workers just as a delay does', async () => {
  const retry = { base: '90s', cap: '90s', jitter: 0 };
  const world = await startWorld({ blueprints: [oneTask({ retry, dispatchTimeout: '10s' })] });
  const [first, second] = [await world.worker('w1'), await world.worker('w2')];
  const id = await world.create('one-task');
  await first.fail(await first.takeOne());
  const polls = [first.poll({ timeoutMs: 200_000 }), second.poll({ timeoutMs: 200_000 })];
  await world.advance(89_999);
  assert.equal((await world.entries(id, 'task_assigned')).length, 1);
  await world.advance(1_001);
  assert.equal((await world.entries(id, 'task_assigned')).length, 2);
  await world.advance(200_000);
  assert.equal((await Promise.all(polls)).flat().length, 1);
});

test('A-41: a delayed start begins in time, over a restart too', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const id = await world.create('one-task', { startDelayMs: 60_000 });
  await world.advance(59_999);
  await world.restart();
  assert.equal((await world.job(id)).status, 'pending');
  await world.advance(1_001);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('A-18: 100 transitions without a wait fail the job with that reason', async () => {
  const loop = blueprint({
    name: 'loop',
    version: 1,
    states: {
      ping: { start: true, to: ['pong'], handle: () => transition('pong') },
      pong: { to: ['ping', 'done'], handle: () => transition('ping') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [loop] });
  const id = await world.create('loop');
  const job = await world.job(id);
  assert.deepEqual([job.status, job.error?.code], ['failed', 'LOOP']);
  assert.equal((await world.entries(id, 'state_entered')).length, 101);
});

test('A-18: the guard is a setting, and a loop of run handlers meets it too', async () => {
  const loop = blueprint({
    name: 'loop',
    version: 1,
    states: {
      ping: { start: true, to: ['pong'], run: async () => transition('pong') },
      pong: { to: ['ping', 'done'], run: async () => transition('ping') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [loop], settings: { maxTransitions: 7 } });
  const id = await world.create('loop');
  await world.settle();
  assert.equal((await world.job(id)).error?.code, 'LOOP');
  assert.equal((await world.entries(id, 'state_entered')).length, 8);
});
