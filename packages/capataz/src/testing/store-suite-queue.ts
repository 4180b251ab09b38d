import assert from 'node:assert/strict';
import type { Store } from '../store/contract.ts';
import {
  changeOf,
  claim,
  claim1,
  claimedIds,
  claimOf,
  classKey,
  commit,
  dispatching,
  ending,
  queuedIds,
  read,
  requeueing,
  type StoreTest,
  second,
  store1,
  taskIdOf,
} from './store-suite-kit.ts';

async function hold(store: Store, id: string, held: boolean): Promise<void> {
  await store1(store, changeOf({ ...(await read(store, id)), held }));
}

export function queueTests(test: StoreTest): void {
  test('a task is queued when it is PENDING, without a ready timer, and its job is not held', async ({
    store,
  }) => {
    await commit(
      store,
      dispatching('a'),
      dispatching('b', {}, [{ name: 'ready', afterMs: second }]),
    );
    assert.deepEqual(await queuedIds(store), ['a-task']);
    const [delayed] = await store.tasks(['b']);
    assert.ok(delayed !== undefined);
    await store1(store, requeueing(await read(store, 'b'), delayed));
    assert.deepEqual(await queuedIds(store), ['a-task', 'b-task']);
    await hold(store, 'a', true);
    assert.deepEqual(await queuedIds(store), ['b-task']);
    assert.deepEqual(await claimedIds(store, { max: 5 }), ['b']);
    await hold(store, 'a', false);
    assert.deepEqual(await claimedIds(store, { max: 5 }), ['a']);
    assert.deepEqual(await queuedIds(store), []);
  });

  test('a task that is requeued while its job is held waits for the release', async ({ store }) => {
    await store1(store, dispatching('a'));
    const task = await claim1(store);
    await hold(store, 'a', true);
    await store1(store, requeueing(await read(store, 'a'), task));
    assert.deepEqual(await claimedIds(store), []);
    await hold(store, 'a', false);
    assert.deepEqual(await claimedIds(store), ['a']);
  });

  test('a release puts no delayed and no handed-out task into the queue', async ({ store }) => {
    await commit(
      store,
      dispatching('a', {}, [{ name: 'ready', afterMs: second }]),
      dispatching('b'),
    );
    await claim1(store);
    for (const id of ['a', 'b']) {
      await hold(store, id, true);
      await hold(store, id, false);
    }
    assert.deepEqual(await queuedIds(store), []);
  });
}

export function orderTests(test: StoreTest): void {
  test('S-42 tasks queue by class, and only classes with something queued are listed', async ({
    store,
  }) => {
    const gpu = { requirements: { properties: { vram: 24 } } };
    await commit(
      store,
      dispatching('a'),
      dispatching('b', gpu),
      dispatching('c', { skill: 'merge' }),
    );
    const keys = async () => (await store.queuedClasses()).map(({ key }) => key).sort();
    assert.deepEqual(
      await keys(),
      [classKey(), classKey(gpu), classKey({ skill: 'merge' })].sort(),
    );
    assert.deepEqual(await claimedIds(store, { max: 9, lanes: [[classKey(gpu)]] }), ['b']);
    assert.deepEqual(await keys(), [classKey(), classKey({ skill: 'merge' })].sort());
    const listed = (await store.queuedClasses()).find(({ skill }) => skill === 'merge');
    assert.deepEqual(listed, {
      key: classKey({ skill: 'merge' }),
      client: 'dev',
      skill: 'merge',
      requirements: {},
      maxCost: null,
    });
  });

  test('S-29 A-28 priority first, then arrival, over all classes of a lane', async ({ store }) => {
    const other = { skill: 'merge' };
    await commit(
      store,
      dispatching('a'),
      dispatching('b', other),
      dispatching('c', { priority: 5 }),
    );
    await commit(
      store,
      dispatching('d', { ...other, priority: 5 }),
      dispatching('e', { priority: -5 }),
      dispatching('f'),
    );
    const lane = [classKey(), classKey(other)];
    assert.deepEqual(await claimedIds(store, { max: 9, lanes: [lane] }), [
      'c',
      'd',
      'a',
      'b',
      'f',
      'e',
    ]);
  });

  test('S-29 A-28 a retried task stands where it first arrived', async ({ store }) => {
    await commit(store, ...['a', 'b', 'c'].map((id) => dispatching(id)));
    const task = await claim1(store);
    await store1(
      store,
      requeueing(await read(store, 'a'), task, [{ name: 'ready', afterMs: second }], {
        failures: 1,
      }),
    );
    const [waiting] = await store.tasks(['a']);
    assert.ok(waiting !== undefined);
    await commit(store, dispatching('d'));
    await store1(store, requeueing(await read(store, 'a'), waiting));
    assert.deepEqual(await claimedIds(store, { max: 9 }), ['a', 'b', 'c', 'd']);
  });
}

/** Together with the names in it, a spec of a little more than 3 Mi characters. */
const large = { params: { text: 'x'.repeat(3 * 1024 * 1024) } };

export function claimSizeTests(test: StoreTest): void {
  test('a claim stops at about 8 Mi characters of specs, and hands out one in any case', async ({
    store,
  }) => {
    const huge = { params: { text: 'x'.repeat(9 * 1024 * 1024) }, priority: 1 };
    await commit(store, dispatching('huge', huge));
    await commit(store, ...['a', 'b', 'c', 'd'].map((id) => dispatching(id, large)));
    assert.deepEqual(await claimedIds(store, { max: 9 }), ['huge']);
    const { tasks, drained } = await claim(store, { max: 9 });
    assert.deepEqual([tasks.map(({ jobId }) => jobId), drained], [['a', 'b', 'c'], []]);
    assert.deepEqual(await claimedIds(store, { max: 9 }), ['d']);
  });

  test('the claims of one commit stop at about 64 Mi together, and those behind are cut', async ({
    store,
  }) => {
    const jobs = Array.from({ length: 24 }, (_, index) => `j${index + 10}`);
    for (const id of jobs) await store1(store, dispatching(id, large));
    const claims = Array.from({ length: 10 }, () => claimOf({ max: 3 }));
    const outcome = await store.commit({ claims });
    assert.deepEqual(
      outcome.claims.map(({ tasks, cut }) => cut ?? tasks.length),
      [3, 3, 3, 3, 3, 3, 3, 1, true, true],
    );
    assert.deepEqual(await claimedIds(store, { max: 9 }), jobs.slice(22));
  });
}

export function claimTests(test: StoreTest): void {
  test('a hand-out makes an attempt, which the worker holds until it ends', async ({
    store,
    clock,
  }) => {
    await store1(store, dispatching('a'));
    await clock.advance(second);
    const { tasks, drained } = await claim(store, { attemptIds: ['t1'] });
    const attempt = {
      id: 't1',
      number: 1,
      worker: 'w1',
      incarnation: 'i1',
      assignedAt: clock.now(),
    };
    assert.deepEqual(
      tasks.map((task) => [task.id, task.jobId, task.status, task.attempts, task.attempt]),
      [['a-task', 'a', 'ASSIGNED', 1, attempt]],
    );
    assert.deepEqual(drained, [classKey()]);
    assert.deepEqual(
      [await store.heldBy('w1'), await store.heldBy('w2'), await store.tasks(['a'])],
      [tasks, [], tasks],
    );
    const job = await store1(store, requeueing(await read(store, 'a'), await claimed(store)));
    const second1 = await claim1(store, { worker: 'w2', incarnation: 'i2', attemptIds: ['t2'] });
    assert.deepEqual(
      [second1.attempts, second1.attempt?.number, second1.attempt?.worker],
      [2, 2, 'w2'],
    );
    await store1(store, ending(job, second1));
    assert.deepEqual([await store.heldBy('w1'), await store.heldBy('w2')], [[], []]);
  });

  test('S-17 a task that is bound to a worker is SCHEDULED until it runs', async ({ store }) => {
    const bound = { requirements: { worker: 'w1' } };
    await store1(store, dispatching('a', bound));
    const task = await claim1(store, { lanes: [[classKey(bound)]], attemptIds: ['t1'] });
    assert.equal(task.status, 'SCHEDULED');
    await store.commit({ starts: [{ jobId: 'a', taskId: task.id, attempt: 't1' }] });
    assert.equal((await store.tasks(['a']))[0]?.status, 'RUNNING');
  });

  test('S-26 RUNNING is written once an attempt, and for the current one only', async ({
    store,
  }) => {
    await store1(store, dispatching('a'));
    await claim1(store, { attemptIds: ['t1'] });
    const mark = { jobId: 'a', taskId: taskIdOf('a'), attempt: 't1' };
    await store.commit({
      starts: [{ ...mark, attempt: 'older' }, mark, mark, { ...mark, jobId: 'none' }],
    });
    await store.commit({ starts: [mark] });
    const book = await store.history('a', 0, 10);
    assert.deepEqual(
      book.map(({ type }) => type),
      ['state_entered', 'task_assigned', 'task_started'],
    );
    assert.deepEqual(
      [book[2]?.attempt, book[2]?.worker, book[2]?.taskFrom, book[2]?.taskTo],
      ['t1', 'w1', 'ASSIGNED', 'RUNNING'],
    );
    assert.equal((await read(store, 'a')).version, 1);
  });
}

export function laneTests(test: StoreTest): void {
  test('lanes are served in turn, one task from each', async ({ store }) => {
    const lane = (client: string) => [classKey({ client })];
    for (const id of ['a1', 'a2', 'a3', 'a4'])
      await store1(store, dispatching(id, { client: 'ann' }));
    for (const id of ['b1', 'b2']) await store1(store, dispatching(id, { client: 'bob' }));
    await store1(store, dispatching('c1', { client: 'cy', priority: 9 }));
    const lanes = [lane('bob'), lane('ann'), lane('nobody'), lane('cy')];
    const outcome = await claim(store, { max: 5, lanes });
    assert.deepEqual(
      outcome.tasks.map(({ jobId }) => jobId),
      ['b1', 'a1', 'c1', 'b2', 'a2'],
    );
    assert.deepEqual(
      [...outcome.drained].sort(),
      [lane('bob'), lane('nobody'), lane('cy')].flat().sort(),
    );
    assert.deepEqual(await claimedIds(store, { max: 9, lanes }), ['a3', 'a4']);
  });

  test('no more than max, and no more than there are attempt ids', async ({ store }) => {
    for (const id of ['a', 'b', 'c']) await store1(store, dispatching(id));
    assert.deepEqual(await claimedIds(store, { max: 0 }), []);
    assert.deepEqual(await claimedIds(store, { max: 3, attemptIds: ['t1'] }), ['a']);
    assert.deepEqual(await claimedIds(store, { max: 1 }), ['b']);
    assert.deepEqual(await claimedIds(store, { lanes: [] }), []);
  });

  test('suspects are handed out up to their limit, and keep nobody waiting behind them', async ({
    store,
  }) => {
    for (const id of ['a', 'b', 'c', 'd']) await store1(store, dispatching(id));
    const { tasks } = await claim(store, { max: 3 });
    for (const task of tasks) {
      await store1(store, requeueing(await read(store, task.jobId), task, [], { lostRuns: 1 }));
    }
    const none = await claim(store, { max: 9, maxSuspects: 0 });
    assert.deepEqual([none.tasks.map(({ jobId }) => jobId), none.drained], [['d'], []]);
    await store1(store, dispatching('e'));
    assert.deepEqual(await claimedIds(store, { max: 9, maxSuspects: 2 }), ['a', 'b', 'e']);
    assert.deepEqual(await claimedIds(store, { max: 9, maxSuspects: 1 }), ['c']);
  });

  test('a claim sees tasks that are started in the same work', async ({ store }) => {
    const { tasks } = await claim(
      store,
      { max: 2 },
      { changes: [{ change: dispatching('a') }, { change: dispatching('b') }] },
    );
    assert.deepEqual(
      tasks.map(({ jobId }) => jobId),
      ['a', 'b'],
    );
  });

  test('several claims in one work each get their own tasks', async ({ store }) => {
    for (const id of ['a', 'b', 'c']) await store1(store, dispatching(id));
    const one = (worker: string) => ({
      worker,
      incarnation: 'i',
      lanes: [[classKey()]],
      max: 2,
      maxSuspects: 1,
      attemptIds: [`${worker}-1`, `${worker}-2`],
      choice: { strategy: 'default', candidates: 2, warm: true, cost: 0.5 } as const,
    });
    const { claims } = await store.commit({ claims: [one('w1'), one('w2')] });
    assert.deepEqual(
      claims.map(({ tasks }) => tasks.map(({ jobId }) => jobId)),
      [['a', 'b'], ['c']],
    );
    const [, assigned] = await store.history('c', 0, 10);
    assert.deepEqual(assigned?.details, {
      strategy: 'default',
      candidates: 2,
      warm: true,
      cost: 0.5,
    });
    assert.deepEqual([assigned?.worker, assigned?.attempt, assigned?.number], ['w2', 'w2-1', 1]);
  });

  test('what a worker holds is listed in the order of hand-out', async ({ store }) => {
    await commit(
      store,
      dispatching('a'),
      dispatching('b', { priority: 3 }),
      dispatching('c', { priority: 9 }),
    );
    await claim(store, { max: 2 });
    await claim(store);
    assert.deepEqual(
      (await store.heldBy('w1')).map(({ jobId }) => jobId),
      ['c', 'b', 'a'],
    );
  });
}

async function claimed(store: Store) {
  const [task] = await store.heldBy('w1');
  assert.ok(task !== undefined);
  return task;
}
