import assert from 'node:assert/strict';
import type { Reservation } from '../core/change.ts';
import type { ChangeRequest } from '../store/contract.ts';
import {
  changeOf,
  claim,
  claim1,
  commit,
  day,
  dispatching,
  doneJob,
  ending,
  leasing,
  newJob,
  read,
  requeueing,
  type StoreTest,
  second,
  sleeping,
  store1,
  taskIdOf,
  types,
  waitingFor,
} from './store-suite-kit.ts';

export function creationTests(test: StoreTest): void {
  test('a new job is stored with version 1 and the instants of its commit', async ({
    store,
    clock,
  }) => {
    await clock.advance(5);
    const outcome = await store.commit({ changes: [{ change: dispatching('a') }] });
    assert.equal(outcome.at, clock.now());
    const job = doneJob(outcome.changes[0]);
    assert.equal(job.version, 1);
    assert.deepEqual([job.createdAt, job.enteredAt, job.endedAt], [clock.now(), clock.now(), null]);
    assert.deepEqual(await store.job('a'), job);
  });

  test('S-9 an id that a caller gave is taken once, hot or ended', async ({ store }) => {
    const mine = await store1(store, changeOf(newJob('order 7/é')));
    assert.deepEqual(await types(store, changeOf(newJob('order 7/é'))), ['exists']);
    await store1(store, ending(mine));
    assert.deepEqual(await types(store, changeOf(newJob('order 7/é'))), ['exists']);
    assert.equal((await read(store, 'order 7/é')).status, 'finished');
  });

  test('two new jobs of one id in one commit: the first wins', async ({ store }) => {
    assert.deepEqual(await types(store, changeOf(newJob('a')), changeOf(newJob('a'))), [
      'done',
      'exists',
    ]);
  });

  test('S-10 an idempotency key gives the first job for the same body, and a conflict for another', async ({
    store,
  }) => {
    const ask = (id: string, bodyHash: string, client = 'dev'): ChangeRequest => ({
      change: dispatching(id, { client }),
      idempotency: { key: 'k', bodyHash },
    });
    const outcomes = await commit(store, ask('a', 'body'), ask('b', 'body'));
    assert.deepEqual(
      outcomes.map(({ type }) => type),
      ['done', 'duplicate'],
    );
    assert.deepEqual(await commit(store, ask('c', 'body')), [{ type: 'duplicate', jobId: 'a' }]);
    assert.deepEqual(await commit(store, ask('d', 'other')), [{ type: 'conflict' }]);
    assert.deepEqual(await types(store, ask('e', 'other', 'someone else')), ['done']);
    assert.deepEqual(await Promise.all(['b', 'c', 'd'].map((id) => store.job(id))), [
      null,
      null,
      null,
    ]);
  });

  test('S-10 an idempotency key outlives its job until it is 24 hours old', async ({
    store,
    clock,
  }) => {
    const ask = (id: string): ChangeRequest => ({
      change: dispatching(id),
      idempotency: { key: 'k', bodyHash: 'body' },
    });
    await store1(store, ask('a'));
    await store1(store, ending(await read(store, 'a')));
    await clock.advance(day - 1);
    assert.deepEqual(await types(store, ask('b')), ['duplicate']);
    await clock.advance(1);
    assert.deepEqual(await types(store, ask('b')), ['done']);
  });

  test('S-10 an idempotency key lives as long as its job, however long that is', async ({
    store,
    clock,
  }) => {
    const ask = (id: string): ChangeRequest => ({
      change: dispatching(id),
      idempotency: { key: 'k', bodyHash: 'body' },
    });
    await store1(store, ask('a'));
    for (let days = 0; days < 4; days += 1) {
      await clock.advance(day);
      assert.deepEqual(await types(store, ask('b'), dispatching(`other-${days}`)), [
        'duplicate',
        'done',
      ]);
    }
    await store1(store, ending(await read(store, 'a')));
    assert.deepEqual(await types(store, ask('b')), ['done']);
  });

  test('a refused creation takes no idempotency key', async ({ store }) => {
    const idempotency = { key: 'k', bodyHash: 'body' };
    const stuck = changeOf(newJob('a', waitingFor('nothing')));
    assert.deepEqual(await types(store, { change: stuck, idempotency }), ['no_cause']);
    assert.deepEqual(await types(store, { change: dispatching('b'), idempotency }), ['done']);
  });
}

export function changeTests(test: StoreTest): void {
  test('a change raises the version, and stamps what it entered and when it ended', async ({
    store,
    clock,
  }) => {
    const first = await store1(store, changeOf(newJob('a')));
    await clock.advance(second);
    const second1 = await store1(store, changeOf({ ...first, data: { n: 1 } }));
    assert.deepEqual([second1.version, second1.enteredAt], [2, first.enteredAt]);
    await clock.advance(second);
    const ended = await store1(store, ending(second1));
    assert.deepEqual(
      [ended.version, ended.enteredAt, ended.endedAt],
      [3, clock.now(), clock.now()],
    );
    assert.deepEqual(await store.job('a'), ended);
  });

  test('a change decided on another version is stale, and so is one to an ended job or to none', async ({
    store,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    await store1(store, changeOf({ ...job, data: { n: 1 } }));
    assert.deepEqual(await types(store, changeOf({ ...job, data: { n: 2 } })), ['stale']);
    assert.deepEqual((await read(store, 'a')).data, { n: 1 });
    const ended = await store1(store, ending(await read(store, 'a')));
    assert.deepEqual(await types(store, changeOf(ended), changeOf({ ...job, id: 'b' })), [
      'stale',
      'stale',
    ]);
  });

  test('S-4 of two changes decided on one version, one is stored and one is stale', async ({
    store,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const change = (n: number) => changeOf({ ...job, data: { n } });
    assert.deepEqual(await types(store, change(1), change(2)), ['done', 'stale']);
    const after = await read(store, 'a');
    const racing = await Promise.all(
      [3, 4, 5].map((n) => types(store, changeOf({ ...after, data: { n } }))),
    );
    assert.deepEqual(racing.flat().sort(), ['done', 'stale', 'stale']);
  });

  test('S-4 what was decided on a change that is refused is stale, though another took its version', async ({
    store,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    await store1(store, changeOf({ ...job, data: { by: 'another' } }));
    const lost = changeOf({ ...job, data: { by: 'first' } });
    const built = changeOf({ ...job, version: 2, data: { by: 'second' } });
    assert.deepEqual(await types(store, lost, built), ['stale', 'stale']);
    assert.deepEqual((await read(store, 'a')).data, { by: 'another' });
  });

  test('S-4 a refused decision never rolls back its neighbours', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('old')));
    const limited = changeOf(newJob('limited'), {
      reservations: [
        { key: 'k', amount: 2, limit: 1, expiresAfterMs: null, until: 'job' as const },
      ],
    });
    const outcomes = await types(
      store,
      dispatching('a'),
      changeOf({ ...job, version: 7 }),
      changeOf(newJob('old')),
      limited,
      changeOf(newJob('stuck', waitingFor('nothing'))),
      dispatching('b'),
    );
    assert.deepEqual(outcomes, ['done', 'stale', 'exists', 'limit', 'no_cause', 'done']);
    assert.deepEqual(
      (await store.jobs({ limit: 10 })).map(({ id }) => id),
      ['old', 'b', 'a'],
    );
    assert.deepEqual(
      (await claim(store, { max: 5 })).tasks.map(({ jobId }) => jobId),
      ['a', 'b'],
    );
    for (const id of ['limited', 'stuck']) assert.deepEqual(await store.history(id, 0, 10), []);
  });
}

export function taskStepTests(test: StoreTest): void {
  test('a step of a task that was decided on another attempt is stale, and stores nothing', async ({
    store,
  }) => {
    const job = await store1(store, dispatching('a'));
    const [queued] = await store.tasks(['a']);
    assert.ok(queued !== undefined);
    const handedOut = await claim1(store);
    assert.deepEqual(await types(store, requeueing(job, queued)), ['stale']);
    const again = await store1(store, requeueing(job, handedOut));
    assert.deepEqual(await types(store, ending(again, handedOut)), ['stale']);
    assert.equal((await read(store, 'a')).version, again.version);
    const unknown = changeOf(again, {
      tasks: [{ type: 'end', taskId: 'nobody', attempt: null, from: 'PENDING', status: 'FAILED' }],
    });
    assert.deepEqual(await types(store, unknown), ['stale']);
    const twice = changeOf(again, { tasks: dispatching('a').tasks });
    assert.deepEqual(await types(store, twice), ['stale']);
  });

  test('cancel_all ends all tasks and tells which attempts were held', async ({ store }) => {
    const three = ['x', 'y', 'z'].map(startOf);
    await store1(store, changeOf(newJob('a', waitingFor('x')), { tasks: three }));
    const { tasks: held } = await claim(store, { max: 2 });
    const job = await read(store, 'a');
    const cancelled = changeOf(
      { ...job, status: 'cancelled', wait: null },
      { tasks: [{ type: 'cancel_all' }] },
    );
    const [outcome] = await commit(store, cancelled);
    assert.equal(outcome?.type, 'done');
    const ids = held.map(({ attempt }) => ({ worker: 'w1', attempt: attempt?.id }));
    assert.deepEqual(outcome?.type === 'done' && outcome.cancelled, ids);
    assert.deepEqual(await store.tasks(['a']), []);
    assert.deepEqual((await claim(store)).tasks, []);
  });

  test('an ended job leaves no open task, whatever the change said', async ({ store }) => {
    await store1(
      store,
      changeOf(newJob('a', waitingFor('x')), { tasks: [startOf('x'), startOf('y')] }),
    );
    const { tasks } = await claim(store, { max: 2 });
    const [outcome] = await commit(store, ending(await read(store, 'a'), tasks[0] ?? null));
    const rest = [{ worker: 'w1', attempt: tasks[1]?.attempt?.id }];
    assert.deepEqual(outcome?.type === 'done' && outcome.cancelled, rest);
    assert.deepEqual([await store.heldBy('w1'), await store.tasks(['a'])], [[], []]);
  });

  test('a task may be started anew under its old id once it has ended', async ({ store }) => {
    const job = await store1(store, dispatching('a'));
    const task = await claim1(store);
    const parked = changeOf(
      { ...job, status: 'quarantined', wait: null },
      { tasks: ending(job, task).tasks },
    );
    const quarantined = await store1(store, parked);
    const redriven = changeOf(
      { ...quarantined, ...waitingFor(taskIdOf('a')) },
      { tasks: dispatching('a').tasks },
    );
    await store1(store, redriven);
    const [again] = await store.tasks(['a']);
    assert.deepEqual([again?.status, again?.attempts, again?.attempt], ['PENDING', 0, null]);
  });
}

function startOf(
  taskId: string,
): ReturnType<typeof dispatching>['tasks'][number] & { type: 'start' } {
  const [start] = dispatching('any').tasks;
  assert.equal(start?.type, 'start');
  return { ...(start as typeof start & { type: 'start' }), taskId };
}

export function limitTests(test: StoreTest): void {
  const taking = (id: string, amount: number, limit = 3, expiresAfterMs: number | null = null) => {
    const reservations: Reservation[] = [
      { key: 'slots', amount, limit, expiresAfterMs, until: 'job' },
    ];
    return changeOf(newJob(id), { reservations });
  };

  test('S-5 a reservation is taken with its change or refused with it, and given back at the end', async ({
    store,
  }) => {
    assert.deepEqual(await types(store, taking('a', 2), taking('b', 1), taking('c', 1)), [
      'done',
      'done',
      'limit',
    ]);
    assert.deepEqual(await commit(store, taking('c', 1)), [
      { type: 'limit', key: 'slots', retryAfterMs: null },
    ]);
    await store1(store, ending(await read(store, 'b')));
    assert.deepEqual(await types(store, taking('c', 2), taking('c', 1)), ['limit', 'done']);
  });

  test('S-5 a share that expires is free again, and the refusal says when', async ({
    store,
    clock,
  }) => {
    await store1(store, taking('a', 2, 3, 10 * second));
    await clock.advance(4 * second);
    await store1(store, taking('b', 1, 3, 60 * second));
    assert.deepEqual(await commit(store, taking('c', 1)), [
      { type: 'limit', key: 'slots', retryAfterMs: 6 * second },
    ]);
    await clock.advance(6 * second);
    assert.deepEqual(await types(store, taking('c', 2)), ['done']);
    assert.deepEqual(await commit(store, taking('d', 4)), [
      { type: 'limit', key: 'slots', retryAfterMs: null },
    ]);
  });

  test('S-5 reservations of one change are counted together, and other keys apart', async ({
    store,
  }) => {
    const share = (key: string, amount: number): Reservation => ({
      key,
      amount,
      limit: 3,
      expiresAfterMs: null,
      until: 'job' as const,
    });
    const twice = changeOf(newJob('a'), { reservations: [share('k', 2), share('k', 2)] });
    assert.deepEqual(await types(store, twice), ['limit']);
    const apart = changeOf(newJob('a'), { reservations: [share('k', 2), share('l', 2)] });
    assert.deepEqual(await types(store, apart), ['done']);
  });

  test('S-6 a job without a cause of progress is refused', async ({ store }) => {
    const stuck = [
      changeOf(newJob('a', { status: 'running', lease: { token: 't', instance: 'i' } })),
      changeOf(newJob('b', { status: 'waiting_for_timer', wait: { type: 'timer', to: 'x' } })),
      changeOf(newJob('c', waitingFor('gone'))),
      changeOf(newJob('d', { status: 'waiting_for_event' })),
    ];
    assert.deepEqual(await types(store, ...stuck), Array(4).fill('no_cause'));
    assert.deepEqual(await store.jobs({ limit: 10 }), []);
    const job = await store1(store, dispatching('e'));
    const [task] = await store.tasks(['e']);
    assert.ok(task !== undefined);
    const ended = changeOf(job, { tasks: ending(job, task).tasks });
    assert.deepEqual(await types(store, ended), ['no_cause']);
    assert.deepEqual(await store.tasks(['e']), [task]);
  });

  test('S-6 what moves, is parked, held or over needs no other cause', async ({ store }) => {
    const moving = [
      changeOf(newJob('a')),
      leasing(newJob('b'), 't', second),
      sleeping(newJob('c'), second),
      dispatching('d'),
      dispatching('e', {}, [{ name: 'ready', afterMs: second }]),
      changeOf(newJob('f', { status: 'quarantined' })),
      changeOf(newJob('g', { ...waitingFor('gone'), held: true })),
      changeOf(newJob('h', { status: 'finished' })),
    ];
    assert.deepEqual(await types(store, ...moving), Array(8).fill('done'));
    await claim1(store);
    const kept = await Promise.all(['b', 'c', 'd', 'e'].map((id) => read(store, id)));
    assert.deepEqual(
      await types(store, ...kept.map((job) => changeOf(job))),
      Array(4).fill('done'),
    );
  });
}
