import assert from 'node:assert/strict';
import type { JobStatus } from '../core/status.ts';
import type { ChangeRequest, Forget, Store } from '../store/contract.ts';
import {
  changeOf,
  commit,
  day,
  dispatching,
  ending,
  newJob,
  read,
  type StoreTest,
  second,
  store1,
  types,
} from './store-suite-kit.ts';

/** Which ended jobs are removed. */
export function forgetTests(test: StoreTest): void {
  test('A-46 what ended longer ago than the age is forgotten, the earliest end first', async ({
    store,
    clock,
  }) => {
    // Created in another order than they end in.
    const jobs = new Map<string, Awaited<ReturnType<typeof store1>>>();
    for (const id of ['a', 'b', 'c', 'd']) jobs.set(id, await store1(store, changeOf(newJob(id))));
    for (const id of ['c', 'a', 'd', 'b']) {
      await store1(store, ending(jobs.get(id) ?? newJob(id)));
      await clock.advance(second);
    }
    // They ended 4, 3, 2 and 1 s ago.
    assert.deepEqual(await forget(store, { olderThanMs: 4 * second }), { jobIds: [], more: false });
    const olderThanMs = 2 * second - 1;
    assert.deepEqual(await forget(store, { olderThanMs, limit: 2 }), {
      jobIds: ['c', 'a'],
      more: true,
    });
    assert.deepEqual(await forget(store, { olderThanMs }), { jobIds: ['d'], more: false });
    assert.deepEqual(await forget(store, { olderThanMs }), { jobIds: [], more: false });
    assert.deepEqual(await remaining(store), ['b']);
  });

  test('A-46 of ended jobs, those that ended last are kept up to a number', async ({ store }) => {
    await commit(store, ...['a', 'b', 'c'].map((id) => over(id)));
    await commit(store, ...['d', 'e'].map((id) => over(id, 'cancelled')));
    assert.deepEqual(await forget(store, { keepAtMost: 5 }), { jobIds: [], more: false });
    assert.deepEqual(await forget(store, { keepAtMost: 2, limit: 2 }), {
      jobIds: ['a', 'b'],
      more: true,
    });
    assert.deepEqual(await forget(store, { keepAtMost: 2, limit: 2 }), {
      jobIds: ['c'],
      more: false,
    });
    assert.deepEqual(await remaining(store), ['e', 'd']);
    assert.deepEqual((await forget(store, { keepAtMost: 0 })).jobIds, ['d', 'e']);
  });

  test('A-46 without an age and a number nothing is forgotten; either is enough', async ({
    store,
    clock,
  }) => {
    await commit(store, over('a'), over('b'), over('c'));
    await clock.advance(99 * day);
    assert.deepEqual(await forget(store, {}), { jobIds: [], more: false });
    assert.deepEqual((await forget(store, { olderThanMs: day, keepAtMost: 9 })).jobIds.length, 3);
    await commit(store, over('d'), over('e'));
    const either = { olderThanMs: day, keepAtMost: 1 };
    assert.deepEqual(await forget(store, either), { jobIds: ['d'], more: false });
  });
}

/** What goes with them, and what stays. */
export function forgottenTests(test: StoreTest): void {
  test('A-46 a forgotten job is gone from every read and from the counts', async ({
    store,
    reopen,
  }) => {
    await store1(store, dispatching('old'));
    await store1(store, ending(await read(store, 'old'), (await store.tasks(['old']))[0] ?? null));
    await store1(store, over('bad', 'failed'));
    await store.commit({ notes: [{ jobId: 'bad', entries: [{ type: 'signal_refused' }] }] });
    const kept = await store1(store, over('new', 'failed'));
    const { position } = await store.events(0, 99);
    assert.deepEqual((await forget(store, { keepAtMost: 1 })).jobIds, ['old', 'bad']);
    const look = async (each: Store): Promise<void> => {
      assert.equal(await each.job('old'), null);
      assert.deepEqual(await each.history('bad', 0, 9), []);
      assert.deepEqual(await each.jobs({ limit: 9 }), [kept]);
      const page = await each.events(0, 99);
      assert.deepEqual([page.events.map(({ jobId }) => jobId), page.position], [['new'], position]);
      assert.deepEqual((await each.counts()).jobs, { failed: 1 });
    };
    await look(store);
    await look(await reopen());
  });

  test('A-46 open and quarantined jobs stay, whatever their age', async ({ store, clock }) => {
    await store1(store, dispatching('waits', {}, [{ name: 'result', afterMs: 9 * day }]));
    await store1(store, changeOf(newJob('parked', { status: 'quarantined' })));
    await store1(store, changeOf(newJob('held', { held: true })));
    await clock.advance(5 * day);
    const before = await open(store);
    await store1(store, over('done'));
    assert.deepEqual((await forget(store, { olderThanMs: 0, keepAtMost: 0 })).jobIds, ['done']);
    assert.deepEqual(await open(store), before);
  });

  test('A-46 positions and instants are not given twice when the newest entries are forgotten', async ({
    store,
    reopen,
  }) => {
    await commit(store, over('a'), over('b'));
    const { position } = await store.events(0, 9);
    const at = await store.now();
    await forgetAll(store);
    const reopened = await reopen();
    assert.ok((await reopened.now()) >= at);
    await commit(reopened, over('c'));
    const { events } = await reopened.events(position, 9);
    assert.deepEqual(
      events.map(({ jobId }) => jobId),
      ['c'],
    );
  });

  test('A-46 a job that ended in the same turn is counted', async ({ store }) => {
    const [, forgotten] = await Promise.all([
      commit(store, over('a'), over('b')),
      forget(store, { keepAtMost: 1 }),
    ]);
    assert.deepEqual(forgotten.jobIds, ['a']);
    assert.deepEqual((await store.counts()).jobs, { finished: 1 });
  });
}

/** Keys and ids of removed jobs. */
export function forgottenKeyTests(test: StoreTest): void {
  test('A-46 S-10 the key of a forgotten job refuses a repeat for its 24 h', async ({
    store,
    clock,
  }) => {
    const ask = (id: string, bodyHash = 'body'): ChangeRequest => ({
      change: over(id),
      idempotency: { key: 'k', bodyHash },
    });
    await commit(store, ask('first'));
    await forgetAll(store);
    assert.equal(await store.job('first'), null);
    await clock.advance(day - 1);
    await forgetAll(store);
    const repeats = [ask('second'), ask('third', 'other')];
    assert.deepEqual(await commit(store, ...repeats), [
      { type: 'duplicate', jobId: 'first' },
      { type: 'conflict' },
    ]);
    await clock.advance(1);
    assert.deepEqual(await types(store, ask('second')), ['done']);
  });

  test('A-46 the id of a forgotten job is free, and its key is not that of the new one', async ({
    store,
    clock,
  }) => {
    const idempotency = { key: 'k', bodyHash: 'h' };
    await commit(store, { change: over('a'), idempotency });
    await clock.advance(day);
    assert.deepEqual((await forget(store, { keepAtMost: 0 })).jobIds, ['a']);
    const again = await store1(store, changeOf(newJob('a', { client: 'other' })));
    assert.equal(again.version, 1);
    const [entry, ...others] = await store.history('a', 0, 9);
    assert.deepEqual([entry?.seq, entry?.at, others], [1, clock.now(), []]);
    assert.deepEqual(await types(store, { change: over('b'), idempotency }), ['done']);
  });
}

function over(id: string, status: JobStatus = 'finished') {
  return changeOf(newJob(id, { status, state: 'done' }));
}

function forget(store: Store, what: Partial<Forget>) {
  return store.forgetEnded({ olderThanMs: null, keepAtMost: null, limit: 9, ...what });
}

async function forgetAll(store: Store): Promise<void> {
  await forget(store, { keepAtMost: 0 });
}

async function remaining(store: Store): Promise<string[]> {
  return (await store.jobs({ limit: 99 })).map(({ id }) => id);
}

async function open(store: Store) {
  return {
    causes: await store.causes({ after: '', limit: 9 }),
    books: await Promise.all(['waits', 'parked', 'held'].map((id) => store.history(id, 0, 9))),
    events: await store.events(0, 99),
    due: await store.due(9),
  };
}
