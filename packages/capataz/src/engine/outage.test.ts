import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Store } from '../store/contract.ts';
import { checkBook, checkEnded, checkIdle, checkLimbo } from '../testing/sim/checkers.ts';
import { oneTask, startWorld, storeWith } from './fixtures.ts';

const sleeper = blueprint({
  name: 'sleeper',
  version: 1,
  states: {
    nap: { start: true, to: ['think'], handle: () => sleep('10s', 'think') },
    think: {
      to: ['done'],
      run: async () => transition('done'),
    },
    done: { end: true },
  },
});

test('an outage of the store ends no poll; what comes after it is delivered at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const poll = worker.poll({ timeoutMs: 300_000 });
  await world.settle();
  world.isStoreDown = true;
  await assert.rejects(world.create('one-task'), { code: 'STORE_UNAVAILABLE' });
  await world.advance(60_000);
  world.isStoreDown = false;
  const id = await world.create('one-task');
  const [task] = await poll;
  assert.equal(task?.jobId, id);
});

test('a poll that begins during an outage gets the backlog soon after it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  world.isStoreDown = true;
  const poll = worker.poll({ timeoutMs: 300_000 });
  await world.advance(10_000);
  world.isStoreDown = false;
  await world.advance(1_000);
  const got = await Promise.race([poll, world.settle().then(() => [])]);
  assert.equal(got[0]?.jobId, id);
});

test('B-079 an outage that nobody meets shows in the health, and is logged once', async () => {
  const world = await startWorld({ blueprints: [sleeper], shared: true });
  await world.advance(10_000);
  world.isStoreDown = true;
  await world.advance(3_100);
  assert.equal(world.engine.healthy, false);
  await world.advance(60_000);
  const refusals = world.errors.filter((line) => line.startsWith('the store refuses writes'));
  assert.equal(refusals.length, 1);
  const parts = world.errors.map((line) => line.split(' {')[0]);
  assert.deepEqual(parts, [...new Set(parts)], 'a part told it twice');
  world.isStoreDown = false;
  await world.advance(1_100);
  assert.equal(world.engine.healthy, true);
});

test('B-079 behind a commit that is not answered others are refused, until it is', async () => {
  const silence = Promise.withResolvers<void>();
  let isSilent = false;
  const world = await startWorld({
    blueprints: [oneTask()],
    shared: true,
    wrapStore: (store: Store) =>
      storeWith(store, {
        commit: async (...args: Parameters<Store['commit']>) => {
          if (isSilent) await silence.promise;
          return store.commit(...args);
        },
      }),
  });
  isSilent = true;
  const first = world.create('one-task');
  await world.advance(4_900);
  assert.equal(world.engine.healthy, true);
  await world.advance(200);
  assert.equal(world.engine.healthy, false);
  await assert.rejects(world.create('one-task'), { code: 'STORE_UNAVAILABLE' });
  isSilent = false;
  silence.resolve();
  await first;
  await world.advance(2_100);
  assert.equal(world.engine.healthy, true);
  await world.create('one-task');
});

test('A-41: deadlines that fall due during an outage fire once, soon after it', async () => {
  const world = await startWorld({ blueprints: [sleeper] });
  const id = await world.create('sleeper');
  await world.advance(5_000);
  world.isStoreDown = true;
  await world.advance(60_000);
  world.isStoreDown = false;
  await world.advance(1_100);
  assert.equal((await world.job(id)).status, 'finished');
  assert.equal((await world.entries(id, 'job_finished')).length, 1);
});

test('the answer of a run survives an outage that is shorter than its timeout', async () => {
  let calls = 0;
  const runs = blueprint({
    name: 'runs',
    version: 1,
    states: {
      think: {
        start: true,
        to: ['done'],
        run: async () => {
          calls += 1;
          await new Promise<void>((resolve) => world.clock.after(2_000, resolve));
          return transition('done');
        },
      },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [runs] });
  const id = await world.create('runs');
  await world.advance(1_000);
  world.isStoreDown = true;
  await world.advance(6_000);
  world.isStoreDown = false;
  await world.advance(6_000);
  assert.equal((await world.job(id)).status, 'finished');
  assert.equal(calls, 1, 'its effects were repeated');
});

test('a heartbeat during an outage is refused, and the worker is not lost by it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { heartbeatMs: 3_000 });
  await world.create('one-task');
  const task = await worker.takeOne();
  worker.keepBeating();
  await world.advance(3_000);
  world.isStoreDown = true;
  await assert.rejects(worker.beat(), { code: 'STORE_UNAVAILABLE' });
  await world.advance(60_000);
  world.isStoreDown = false;
  await world.advance(10_000);
  assert.equal((await worker.report(task)).type, 'accepted');
});

test('tasks assigned with a report that fails afterwards come back uncounted', async () => {
  let isFailing = false;
  const world = await startWorld({
    blueprints: [oneTask(), oneTask({}, { name: 'other' })],
    // The second look at a job, which follows the first commit of a report, fails.
    wrapStore: (store: Store) =>
      storeWith(store, () =>
        isFailing
          ? {
              tasks: () => {
                isFailing = false;
                return Promise.reject(new Error('the store hiccups'));
              },
            }
          : {},
      ),
  });
  const worker = await world.worker('w1', { slots: 3 });
  await world.create('one-task');
  const first = await worker.takeOne();
  const [id, next] = [await world.create('one-task'), await world.create('one-task')];
  const second = await worker.takeOne();
  assert.equal(second.jobId, id);
  isFailing = true;
  const both = worker.reportAll(
    [
      [first, {}],
      [{ ...second, jobId: next }, {}],
    ],
    1,
  );
  await assert.rejects(both, /hiccups/);
  await world.settle();
  const task = await world.task(next);
  assert.deepEqual([task.status, task.lostRuns, task.failures], ['PENDING', 0, 0]);
});

test('the check for limbo counts a planted violation, once a look, and none otherwise', async () => {
  let isLying = false;
  const world = await startWorld({
    blueprints: [oneTask(), sleeper],
    timeoutMonitor: { enabled: false },
    wrapStore: (store: Store) =>
      storeWith(store, () =>
        isLying
          ? {
              causes: async (...args: Parameters<Store['causes']>) =>
                (await store.causes(...args)).map((causes) => ({
                  ...causes,
                  runnable: false,
                  leaseEndsAt: null,
                  timers: [],
                  queued: [],
                  watched: [],
                })),
            }
          : {},
      ),
  });
  const worker = await world.worker('w1');
  await world.create('one-task');
  await world.create('one-task', { startDelayMs: 3_600_000 });
  await worker.takeOne();
  await world.advance(300_000);
  assert.equal(world.engine.violations, 0);
  assert.deepEqual(world.errors, []);
  isLying = true;
  await world.advance(60_000);
  assert.equal(world.engine.violations, 1);
  assert.match(world.errors[0] ?? '', /job in limbo/);
});

test('whatever call of the store fails, nothing is lost and nothing is left', async () => {
  for (let failing = 1; failing <= 60; failing += 1) {
    let calls = 0;
    const world = await startWorld({
      blueprints: [oneTask({ retry: { jitter: 0, base: '1ms' } }), sleeper],
      wrapStore: (store: Store) =>
        new Proxy(store, {
          get(target, key) {
            const value: unknown = Reflect.get(target, key, target);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) => {
              calls += 1;
              if (calls === failing + 20) return Promise.reject(new Error('the store hiccups'));
              return value.apply(target, args);
            };
          },
        }),
    });
    const worker = await world.worker('w1', { heartbeatMs: 3_000, batch: true, slots: 2 });
    worker.keepBeating();
    const ids: string[] = [];
    for (const name of ['one-task', 'sleeper', 'one-task']) {
      await world.create(name).then(
        (id) => ids.push(id),
        () => undefined,
      );
    }
    for (let round = 0; round < 60; round += 1) {
      await world.advance(500);
      if ((await world.truth.workers()).length === 0)
        await worker.register().catch(() => undefined);
      const tasks = await worker.take(4).catch(() => []);
      for (const task of tasks) await worker.report(task).catch(() => undefined);
    }
    const problems = [
      ...(await checkEnded(world.truth, ids)),
      ...(await checkLimbo(world.truth)),
      ...(await checkIdle(world.truth)),
    ];
    for (const id of ids) problems.push(...checkBook(await world.job(id), await world.history(id)));
    assert.deepEqual(problems, [], `call ${failing + 20} failed`);
  }
});

test('B-022 a job that somebody keeps locked in the store holds up no deadline but its own', async () => {
  let locked = '';
  const world = await startWorld({
    blueprints: [sleeper],
    shared: true,
    wrapStore: (store: Store) =>
      storeWith(store, {
        commit: async (...args: Parameters<Store['commit']>) => {
          if (args[0].changes?.some(({ change }) => change.job.id === locked) === true)
            throw new CapatazError('STORE_BUSY', 'locked');
          return store.commit(...args);
        },
      }),
  });
  const ids = await Promise.all(Array.from({ length: 9 }, () => world.create('sleeper')));
  const [stuck = '', ...others] = ids;
  locked = stuck;
  await world.advance(20_000);
  for (const id of others) assert.equal((await world.job(id)).status, 'finished');
  assert.equal((await world.job(stuck)).status, 'waiting_for_timer');
  assert.equal(world.engine.healthy, true);
  assert.equal(world.errors.length, 1, world.errors.join('\n'));
  assert.match(world.errors[0] ?? '', new RegExp(`locked in the store.*${stuck}`));
  locked = '';
  await world.advance(2_000);
  assert.equal((await world.job(stuck)).status, 'finished');
});
