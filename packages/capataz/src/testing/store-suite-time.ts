import assert from 'node:assert/strict';
import type { Due, Store } from '../store/contract.ts';
import {
  changeOf,
  claim1,
  commit,
  dispatching,
  ending,
  leasing,
  newJob,
  read,
  requeueing,
  type StoreTest,
  second,
  sleeping,
  store1,
  workerOf,
  year,
} from './store-suite-kit.ts';

async function dueNames(store: Store): Promise<string[]> {
  return (await store.due(100)).due.map(describeDue);
}

function describeDue(due: Due): string {
  if (due.type === 'timer') return `${due.jobId} ${due.name}`;
  return due.type === 'lease' ? `${due.jobId} lease ${due.token}` : `${due.worker} silent`;
}

export function deadlineTests(test: StoreTest): void {
  test('S-3 durations go in, instants come out, by the steady clock', async ({ store, clock }) => {
    const start = await store.now();
    assert.equal(start, clock.now());
    clock.step(-3_600_000);
    await clock.advance(second);
    assert.equal(await store.now(), start + second);
    clock.step(7_200_000);
    assert.equal(await store.now(), start + second);
    await store1(store, sleeping(newJob('a'), second));
    const [cause] = await store.causes({ id: 'a' });
    assert.deepEqual(cause?.timers, [{ taskId: null, name: 'wake', at: start + 2 * second }]);
  });

  test('S-3 the time of a store never goes back, not even over a restart', async ({
    store,
    clock,
    reopen,
  }) => {
    await clock.advance(60 * second);
    await store1(store, changeOf(newJob('a')));
    const before = await store.now();
    clock.step(-3_600_000);
    const reopened = await reopen();
    assert.equal(await reopened.now(), before);
    await clock.advance(second);
    assert.equal(await reopened.now(), before + second);
  });

  test('what is due is listed with the earliest first, and stays until it is changed', async ({
    store,
    clock,
  }) => {
    await commit(store, sleeping(newJob('a'), 3 * second), sleeping(newJob('b'), second));
    await commit(
      store,
      dispatching('c', {}, [
        { name: 'dispatch', afterMs: 2 * second },
        { name: 'result', afterMs: 9 * second },
      ]),
    );
    assert.deepEqual(await store.due(9), { due: [], nextInMs: second });
    await clock.advance(3 * second);
    const due = [
      { type: 'timer', jobId: 'b', taskId: null, name: 'wake', at: clock.now() - 2 * second },
      { type: 'timer', jobId: 'c', taskId: 'c-task', name: 'dispatch', at: clock.now() - second },
      { type: 'timer', jobId: 'a', taskId: null, name: 'wake', at: clock.now() },
    ];
    assert.deepEqual(await store.due(9), { due, nextInMs: 6 * second });
    assert.deepEqual(await store.due(2), { due: due.slice(0, 2), nextInMs: 0 });
    await store1(store, sleeping(await read(store, 'b'), second));
    assert.deepEqual(await dueNames(store), ['c dispatch', 'a wake']);
    await store1(store, changeOf(await read(store, 'a')));
    assert.deepEqual(await dueNames(store), ['c dispatch', 'a wake']);
    await store1(store, ending(await read(store, 'a')));
    await store1(store, ending(await read(store, 'c')));
    assert.deepEqual(await store.due(9), { due: [], nextInMs: second });
  });

  test('waits of years keep their instant to the millisecond', async ({ store, clock }) => {
    await store1(store, sleeping(newJob('a'), 90 * year));
    assert.deepEqual(await store.due(1), { due: [], nextInMs: 90 * year });
    await clock.advance(90 * year - 1);
    assert.deepEqual(await store.due(1), { due: [], nextInMs: 1 });
    await clock.advance(1);
    assert.deepEqual(await dueNames(store), ['a wake']);
  });
}

export function taskDeadlineTests(test: StoreTest): void {
  test('S-22 the execution limit runs from each hand-out, where no result deadline was given', async ({
    store,
    clock,
  }) => {
    await store1(
      store,
      dispatching('a', { executionLimitMs: 10 * second }, [
        { name: 'dispatch', afterMs: 4 * second },
      ]),
    );
    await clock.advance(3 * second);
    const task = await claim1(store);
    assert.equal(task.resultAt, null);
    assert.deepEqual(await store.due(9), { due: [], nextInMs: 10 * second });
    await store1(store, requeueing(await read(store, 'a'), task));
    assert.deepEqual(await store.due(9), { due: [], nextInMs: null });
    await clock.advance(3 * second);
    await claim1(store);
    await clock.advance(10 * second);
    assert.deepEqual(await dueNames(store), ['a execution']);
  });

  test('S-22 a result deadline spans retries and is the only one of an attempt', async ({
    store,
    clock,
  }) => {
    const timers = [
      { name: 'result', afterMs: 60 * second },
      { name: 'dispatch', afterMs: 5 * second },
    ] as const;
    await store1(store, dispatching('a', {}, timers));
    const resultAt = clock.now() + 60 * second;
    const task = await claim1(store);
    assert.equal(task.resultAt, resultAt);
    assert.deepEqual(await store.due(9), { due: [], nextInMs: 60 * second });
    await clock.advance(10 * second);
    const again = [
      { name: 'ready', afterMs: second },
      { name: 'dispatch', afterMs: 6 * second },
    ] as const;
    await store1(store, requeueing(await read(store, 'a'), task, again));
    const [cause] = await store.causes({ id: 'a' });
    assert.deepEqual(
      cause?.timers.map(({ name }) => name),
      ['ready', 'dispatch', 'result'],
    );
    assert.equal(cause?.tasks[0]?.resultAt, resultAt);
    await clock.advance(50 * second);
    assert.deepEqual(await dueNames(store), ['a ready', 'a dispatch', 'a result']);
  });

  test('the deadlines of a held job go on', async ({ store, clock }) => {
    await store1(store, dispatching('a', {}, [{ name: 'dispatch', afterMs: second }]));
    await store1(store, changeOf({ ...(await read(store, 'a')), held: true }));
    await clock.advance(second);
    assert.deepEqual(await dueNames(store), ['a dispatch']);
  });
}

export function leaseTests(test: StoreTest): void {
  test('a runnable job is pending or running, without wait, lease or hold', async ({
    store,
    clock,
  }) => {
    await commit(
      store,
      changeOf(newJob('b')),
      changeOf(newJob('a')),
      dispatching('c'),
      changeOf(newJob('d', { held: true })),
    );
    await commit(
      store,
      changeOf(newJob('e', { blueprintVersion: 2 })),
      changeOf(newJob('f', { status: 'quarantined' })),
    );
    const mine = [{ name: 'digest', version: 1 }];
    assert.deepEqual(await store.runnable(mine, 9), ['b', 'a']);
    assert.deepEqual(await store.runnable(mine, 1), ['b']);
    assert.deepEqual(await store.runnable([{ name: 'digest', version: 2 }, ...mine], 9), [
      'b',
      'a',
      'e',
    ]);
    assert.deepEqual(await store.runnable([], 9), []);
    await store1(store, leasing(await read(store, 'b'), 't1', second));
    assert.deepEqual(await store.runnable(mine, 9), ['a']);
    await clock.advance(2 * second);
    assert.deepEqual(await store.runnable(mine, 9), ['a']);
    await store1(store, changeOf({ ...(await read(store, 'b')), lease: null }));
    assert.deepEqual(await store.runnable(mine, 9), ['b', 'a']);
    await store1(store, changeOf({ ...(await read(store, 'd')), held: false }));
    assert.deepEqual(await store.runnable(mine, 9), ['b', 'a', 'd']);
  });

  test('a lease that ran out is due, and stays in place until a change replaces it', async ({
    store,
    clock,
  }) => {
    await store1(store, leasing(newJob('a'), 't1', 10 * second));
    await clock.advance(4 * second);
    assert.deepEqual(await store.due(9), { due: [], nextInMs: 6 * second });
    const renewals = [
      { jobId: 'a', token: 't1', forMs: 10 * second },
      { jobId: 'a', token: 'older', forMs: second },
      { jobId: 'no', token: 't3', forMs: second },
    ];
    assert.deepEqual(await store.renewLeases(renewals), ['older', 't3']);
    await clock.advance(10 * second);
    assert.deepEqual(await store.due(9), {
      due: [{ type: 'lease', jobId: 'a', token: 't1', at: clock.now() }],
      nextInMs: null,
    });
    const job = await read(store, 'a');
    assert.equal(job.lease?.token, 't1');
    await store1(store, leasing(job, 't2', second));
    assert.deepEqual(await store.renewLeases([{ jobId: 'a', token: 't1', forMs: second }]), ['t1']);
    await store1(store, ending(await read(store, 'a')));
    assert.deepEqual(await store.renewLeases([{ jobId: 'a', token: 't2', forMs: second }]), ['t2']);
    assert.deepEqual(await store.due(9), { due: [], nextInMs: null });
  });

  test('a change that says nothing about a lease leaves its end', async ({ store, clock }) => {
    const job = await store1(store, leasing(newJob('a'), 't1', 10 * second));
    await clock.advance(second);
    await store1(store, changeOf({ ...job, held: true }));
    assert.equal((await store.causes({ id: 'a' }))[0]?.leaseEndsAt, clock.now() + 9 * second);
  });

  test('S-43 taking over ends every lease, and none where it may be of another instance', async ({
    store,
    clock,
    reopen,
  }) => {
    await store1(store, leasing(newJob('a'), 't1', 10 * second));
    await clock.advance(second);
    const reopened = await reopen();
    await reopened.takeOver(second);
    const ended = reopened.capabilities.shared ? [] : ['a lease t1'];
    assert.deepEqual(await dueNames(reopened), ended);
    assert.equal((await read(reopened, 'a')).version, 1);
  });
}

export function forgottenWorkerTests(test: StoreTest): void {
  test('a worker is forgotten by its registration, and not by an earlier one', async ({
    store,
  }) => {
    await store.saveWorker(workerOf('w2'), 9 * second);
    await store.saveWorker(workerOf('w1'), 9 * second);
    const ids = async (...among: string[]): Promise<string[]> =>
      (await store.workers(among.length === 0 ? undefined : among)).map(({ worker }) => worker.id);
    await store.removeWorker('w2', 'an earlier registration');
    assert.deepEqual(await ids(), ['w1', 'w2']);
    assert.deepEqual(await ids('w2', 'unknown'), ['w2']);
    await store.removeWorker('w2', 'w2-1');
    await store.removeWorker('w2', 'w2-1');
    assert.deepEqual(await ids(), ['w1']);
  });

  test('a worker that is forgotten leaves what it held where it is', async ({ store }) => {
    await store.saveWorker(workerOf('w1'), 9 * second);
    await store1(store, dispatching('a'));
    const task = await claim1(store);
    assert.deepEqual((await store.causes({ id: 'a' }))[0]?.watched, [task.id]);
    await store.removeWorker('w1', 'w1-1');
    assert.deepEqual(await store.heldBy('w1'), [task]);
    assert.deepEqual(await store.loads(), new Map([['w1', 1]]));
    assert.deepEqual((await store.causes({ id: 'a' }))[0]?.watched, []);
  });
}

export function workerTests(test: StoreTest): void {
  test('a worker is stored as it registered last, and its silence is moved by touches', async ({
    store,
    clock,
  }) => {
    const start = clock.now();
    await store.saveWorker(workerOf('w2'), 9 * second);
    await store.saveWorker(workerOf('w1'), 9 * second);
    await clock.advance(second);
    await store.touchWorkers([
      { id: 'w1', silentAfterMs: 9 * second, worker: workerOf('w1', { status: 'BUSY' }) },
      { id: 'unknown', silentAfterMs: second },
    ]);
    await store.touchWorkers([{ id: 'w2', silentAfterMs: 3 * second, unseen: true }]);
    assert.deepEqual(await store.workers(), [
      {
        worker: workerOf('w1', { status: 'BUSY' }),
        lastSeenAt: start + second,
        silentAt: start + 10 * second,
      },
      { worker: workerOf('w2'), lastSeenAt: start, silentAt: start + 4 * second },
    ]);
    assert.deepEqual(await store.due(9), { due: [], nextInMs: 3 * second });
    await clock.advance(3 * second);
    assert.deepEqual((await store.due(9)).due, [
      { type: 'silence', worker: 'w2', at: clock.now() },
    ]);
    await store.removeWorker('w2', 'w2-1');
    assert.deepEqual(await dueNames(store), []);
  });

  test('S-37 silences that ended while nobody was there get one grace', async ({
    store,
    clock,
    reopen,
  }) => {
    await store.saveWorker(workerOf('gone'), 2 * second);
    await store.saveWorker(workerOf('there'), 60 * second);
    await clock.advance(5 * second);
    const reopened = await reopen();
    await reopened.takeOver(3 * second);
    assert.deepEqual(await dueNames(reopened), []);
    const ends = (await reopened.workers()).map(({ silentAt }) => silentAt - clock.now());
    assert.deepEqual(ends, [3 * second, 55 * second]);
    await clock.advance(3 * second);
    assert.deepEqual(await dueNames(reopened), ['gone silent']);
  });

  test('an offered blueprint keeps the graph of its first offer', async ({ store }) => {
    const offer = { name: 'digest', version: 1, graph: 'one' };
    assert.equal(await store.offerBlueprint(offer), 'one');
    assert.equal(await store.offerBlueprint({ ...offer, graph: 'two' }), 'one');
    assert.equal(await store.offerBlueprint({ ...offer, version: 2, graph: 'two' }), 'two');
  });

  test('S-15 orphans are open jobs whose blueprint version nobody has offered for long', async ({
    store,
    clock,
  }) => {
    await store.offerBlueprint({ name: 'old', version: 1, graph: 'g' });
    await commit(
      store,
      changeOf(newJob('a', { blueprint: 'old' })),
      changeOf(newJob('b', { blueprint: 'never' })),
      changeOf(newJob('c')),
    );
    await commit(
      store,
      changeOf(newJob('d', { blueprint: 'old', status: 'quarantined' })),
      changeOf(newJob('e', { blueprint: 'old', status: 'finished' })),
    );
    const mine = [{ name: 'digest', version: 1 }];
    await clock.advance(10 * second);
    assert.deepEqual(await store.orphans(mine, 10 * second, 9), ['b']);
    await clock.advance(1);
    assert.deepEqual(await store.orphans(mine, 10 * second, 9), ['a', 'b']);
    assert.deepEqual(await store.orphans(mine, 10 * second, 1), ['a']);
    assert.deepEqual(await store.orphans([], 10 * second, 9), ['a', 'b', 'c']);
    await store.offerBlueprint({ name: 'old', version: 1, graph: 'g' });
    assert.deepEqual(await store.orphans(mine, 10 * second, 9), ['b']);
  });
}
