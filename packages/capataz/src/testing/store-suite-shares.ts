import assert from 'node:assert/strict';
import type { Change, Reservation } from '../core/change.ts';
import type { Job } from '../core/job.ts';
import {
  alsoOf,
  awaitingKey,
  changeOf,
  commit,
  day,
  deadlinesOf,
  ending,
  newJob,
  read,
  type StoreTest,
  second,
  sleeping,
  store1,
  types,
} from './store-suite-kit.ts';

function share(amount: number, fields: Partial<Reservation> = {}): Reservation {
  return { key: 'k', amount, limit: 3, expiresAfterMs: null, until: 'job', ...fields };
}

function taking(id: string, ...reservations: readonly Reservation[]): Change {
  return changeOf(newJob(id), { reservations });
}

export function shareTests(test: StoreTest): void {
  test('S-33 a share is given back when it is released', async ({ store }) => {
    const job = await store1(store, taking('a', share(3), share(1, { key: 'other', limit: 1 })));
    assert.deepEqual(await types(store, taking('b', share(1))), ['limit']);
    await store1(store, changeOf(job, { also: alsoOf({ releases: ['k', 'none'] }) }));
    assert.deepEqual(
      await types(store, taking('b', share(3)), taking('c', share(1, { key: 'other', limit: 1 }))),
      ['done', 'limit'],
    );
  });

  test('S-33 a share for a wait is given back when the wait ends, and not before', async ({
    store,
  }) => {
    const begun = sleeping(newJob('a'), day);
    const job = await store1(store, { ...begun, reservations: [share(3, { until: 'wait' })] });
    const kept = await store1(store, changeOf(job, { also: alsoOf({ rearm: [] }) }));
    assert.deepEqual(await types(store, taking('b', share(1))), ['limit']);
    const over = { ...kept, status: 'pending', wait: null } as const;
    await store1(store, changeOf(over, { timers: [] }));
    assert.deepEqual(await types(store, taking('b', share(3))), ['done']);
  });

  test('S-33 a share for a wait may be taken anew with the next one', async ({ store }) => {
    const waiting = (job: Parameters<typeof sleeping>[0]): Change => ({
      ...sleeping(job, day),
      reservations: [share(1, { until: 'wait' })],
    });
    let job = await store1(store, waiting(newJob('a')));
    for (let round = 0; round < 3; round += 1) job = await store1(store, waiting(job));
    assert.deepEqual(await types(store, taking('b', share(2))), ['done']);
  });

  test('S-33 what was used of a share stays until it expires, even after the job', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, taking('a', share(3, { expiresAfterMs: 9 * second })));
    const settles = [{ key: 'k', amount: 0.5 }];
    const settled = await store1(store, changeOf(job, { also: alsoOf({ settles }) }));
    await store1(store, ending(settled));
    assert.deepEqual(await commit(store, taking('b', share(3))), [
      { type: 'limit', key: 'k', retryAfterMs: 9 * second },
    ]);
    assert.deepEqual(await types(store, taking('b', share(2.5))), ['done']);
    await clock.advance(9 * second);
    assert.deepEqual(await types(store, taking('c', share(0.5))), ['done']);
  });

  test('S-33 a share that does not expire is free once it is settled', async ({ store }) => {
    const job = await store1(store, taking('a', share(3)));
    const settles = [{ key: 'k', amount: 2 }];
    await store1(store, changeOf(job, { also: alsoOf({ settles }) }));
    assert.deepEqual(await types(store, taking('b', share(3))), ['done']);
  });

  test('S-33 the shares of an ended job are free, whatever they were for', async ({ store }) => {
    const both = [share(2, { until: 'wait' }), share(1)];
    const job = await store1(store, taking('a', ...both));
    await store1(store, ending(job));
    assert.deepEqual(await types(store, taking('b', share(3))), ['done']);
  });
}

export function waiterTests(test: StoreTest): void {
  test('S-64 who waits for a key is woken when a share is given back', async ({ store, clock }) => {
    const job = await store1(store, taking('a', share(3)));
    await store1(store, awaitingKey(newJob('b'), 'k'));
    const { wake } = await deadlinesOf(store, 'b');
    await clock.advance(second);
    await store1(store, ending(job));
    assert.deepEqual(
      [wake, await deadlinesOf(store, 'b')],
      [clock.now() - second + day, { wake: clock.now() }],
    );
    assert.equal((await read(store, 'b')).version, 1);
    assert.partialDeepStrictEqual(await store.due(9), {
      due: [{ type: 'timer', jobId: 'b', name: 'wake', at: clock.now() }],
    });
  });

  test('S-64 of those who wait for a key, who began to wait first is served first', async ({
    store,
    clock,
  }) => {
    const holder = await store1(store, taking('z', share(3)));
    const jobs = [];
    for (const id of ['b', 'a', 'c']) jobs.push(await store1(store, changeOf(newJob(id))));
    for (const job of jobs.toReversed()) await store1(store, awaitingKey(job, 'k'));
    await clock.advance(second);
    await store1(store, changeOf(holder, { also: alsoOf({ releases: ['k'] }) }));
    const woken = await Promise.all(['b', 'a', 'c'].map((id) => deadlinesOf(store, id)));
    assert.deepEqual(
      woken.map(({ wake }) => wake === clock.now()),
      [false, false, true],
    );
  });

  test('S-64 nobody overtakes who waits for a key longer', async ({ store }) => {
    const old = await store1(store, changeOf(newJob('old')));
    const waiting = await store1(store, awaitingKey(newJob('b'), 'k'));
    const young = await store1(store, changeOf(newJob('young')));
    const later = changeOf(young, { reservations: [share(1)] });
    assert.deepEqual(await commit(store, taking('new', share(1)), later), [
      { type: 'limit', key: 'k', retryAfterMs: null },
      { type: 'limit', key: 'k', retryAfterMs: null },
    ]);
    const before = changeOf(old, { reservations: [share(1)] });
    const itself = changeOf(
      { ...waiting, status: 'pending', wait: null },
      { timers: [], reservations: [share(1)] },
    );
    assert.deepEqual(await types(store, before, itself, later), ['limit', 'done', 'done']);
  });

  test('S-64 who is served wakes the next, as long as there is room', async ({ store, clock }) => {
    const waiters = ['a', 'b', 'c'].map((id) => awaitingKey(newJob(id), 'k'));
    for (const change of waiters) await store1(store, change);
    const served: string[] = [];
    for (const id of ['a', 'b', 'c']) {
      await clock.advance(second);
      const job = { ...(await read(store, id)), status: 'pending', wait: null } as const;
      await store1(store, changeOf(job, { timers: [], reservations: [share(1, { limit: 2 })] }));
      for (const next of ['b', 'c']) {
        if ((await deadlinesOf(store, next))['wake'] === clock.now()) served.push(`${id} ${next}`);
      }
      if (id === 'b') break;
    }
    assert.deepEqual(served, ['a b']);
  });

  test('S-64 who waits no more is in nobody’s way', async ({ store }) => {
    const waiting = await store1(store, awaitingKey(newJob('a'), 'k'));
    const other = await store1(store, awaitingKey(waiting, 'other'));
    assert.deepEqual(await types(store, taking('b', share(1))), ['done']);
    assert.deepEqual(await types(store, taking('c', share(1, { key: 'other' }))), ['limit']);
    await store1(store, ending(other));
    assert.deepEqual(await types(store, taking('c', share(1, { key: 'other' }))), ['done']);
  });

  test('S-64 who waits is known after a restart', async ({ store, clock, reopen }) => {
    const job = await store1(store, taking('a', share(3)));
    await store1(store, awaitingKey(newJob('b'), 'k'));
    const reopened = await reopen();
    assert.deepEqual(await types(reopened, taking('c', share(0))), ['limit']);
    await clock.advance(second);
    await store1(reopened, ending(job));
    assert.deepEqual(await deadlinesOf(reopened, 'b'), { wake: clock.now() });
  });
}

export function placeTests(test: StoreTest): void {
  test('S-64 who begins to wait for a place that is free by then looks again at once', async ({
    store,
    clock,
  }) => {
    const holder = await store1(store, taking('z', share(2)));
    const isCalled = async (id: string, wish: { amount: number; limit: number }) => {
      const also = alsoOf({ awaits: { key: 'k', ...wish } });
      await store1(store, { ...awaitingKey(newJob(id), 'k'), also });
      return (await deadlinesOf(store, id)).wake === clock.now();
    };
    const amounts = { amount: 2, limit: 3 };
    assert.equal(await isCalled('full', amounts), false);
    // One more would have room, but not before who waits already.
    assert.equal(await isCalled('later', { amount: 1, limit: 3 }), false);
    await store1(store, ending(await read(store, 'full')));
    await store1(store, ending(await read(store, 'later')));
    await store1(store, ending(holder));
    assert.equal(await isCalled('free', amounts), true);
  });

  test('S-64 who goes on waiting for another key keeps its place among all who wait', async ({
    store,
  }) => {
    const senior = await store1(store, awaitingKey(newJob('senior'), 'a'));
    await store1(store, awaitingKey(newJob('junior'), 'b'));
    const both = [share(1, { key: 'a' }), share(1, { key: 'b' })];
    const going = (job: Job) =>
      changeOf({ ...job, status: 'pending', wait: null }, { timers: [], reservations: both });
    const refused = await types(store, going(await read(store, 'junior')));
    assert.deepEqual(refused, ['limit']);
    await store1(store, awaitingKey(senior, 'b'));
    assert.deepEqual(await types(store, going(await read(store, 'senior'))), ['done']);
  });
}
