import assert from 'node:assert/strict';
import type { Job } from '../core/job.ts';
import type { InboxItem } from '../core/signal.ts';
import type { Letter, Store } from '../store/contract.ts';
import { maxEarly } from '../store/rules.ts';
import {
  alsoOf,
  awaitingEvent,
  changeOf,
  commit,
  day,
  deadlinesOf,
  early,
  ending,
  inboxIds,
  newJob,
  read,
  type StoreTest,
  second,
  signalOf,
  sleeping,
  store1,
  types,
} from './store-suite-kit.ts';

function letter(id: string, fields: Partial<Letter> = {}): Letter {
  return { client: 'dev', key: 'order-7', item: signalOf(id), keepForMs: day, ...fields };
}

async function send(store: Store, ...letters: readonly Letter[]) {
  return (await store.commit({ letters })).letters;
}

/** A job that can be addressed. */
function addressable(id: string, fields: Partial<Job> = {}, key = 'order-7') {
  return awaitingEvent(newJob(id, fields), { keys: [key] });
}

export function earlySignalTests(test: StoreTest): void {
  test('S-11 a signal that comes before its wait is kept beside the job', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    assert.deepEqual(await store1(store, early(job, signalOf('s1'))), job);
    await store1(store, early(job, signalOf('s2')));
    assert.deepEqual(await store.inbox('a'), [signalOf('s1'), signalOf('s2')]);
    assert.deepEqual(await deadlinesOf(store, 'a'), {});
    assert.deepEqual(await read(store, 'a'), job);
  });

  test('S-11 an early signal decided on another version is stale: its wait may have come', async ({
    store,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    await store1(store, changeOf({ ...job, data: { n: 1 } }));
    assert.deepEqual(await types(store, early(job, signalOf('s1'))), ['stale']);
    assert.deepEqual(await store.inbox('a'), []);
  });

  test('S-11 at most 100 early signals lie in an inbox', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const signals = Array.from({ length: maxEarly + 1 }, (_, n) => early(job, signalOf(`s${n}`)));
    const outcomes = await types(store, ...signals);
    assert.deepEqual([maxEarly, outcomes.lastIndexOf('done')], [100, 99]);
    assert.equal(outcomes.at(-1), 'inbox_full');
    assert.equal((await store.inbox('a')).length, 100);
    const item = { ...signalOf('from afar'), kind: 'cancel' } as const;
    const posts = [{ jobId: 'a', item, expiresAfterMs: null }];
    assert.deepEqual(await types(store, changeOf(job, { also: alsoOf({ posts }) })), ['done']);
  });

  test('S-11 an early signal that has expired is gone, and makes room', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const signals = Array.from({ length: maxEarly }, (_, n) =>
      early(job, signalOf(`s${n}`), second + n),
    );
    await commit(store, ...signals);
    await clock.advance(second - 1);
    assert.deepEqual(await types(store, early(job, signalOf('late'))), ['inbox_full']);
    await clock.advance(1);
    assert.equal((await store.inbox('a'))[0]?.id, 's1');
    assert.deepEqual(await types(store, early(job, signalOf('late'))), ['done']);
    await clock.advance(day);
    assert.deepEqual(await inboxIds(store, 'a'), ['late']);
  });

  test('S-11 a wait that looks for early signals rings at once where there is one', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const none = await store1(store, awaitingEvent(job, { looks: true }));
    assert.deepEqual(Object.keys(await deadlinesOf(store, 'a')), ['deadline']);
    await store1(store, early(none, signalOf('s1'), second));
    const blind = await store1(store, awaitingEvent(none));
    assert.deepEqual(Object.keys(await deadlinesOf(store, 'a')), ['deadline']);
    const looking = await store1(store, awaitingEvent(blind, { looks: true }));
    assert.equal((await deadlinesOf(store, 'a'))['inbox'], clock.now());
    await clock.advance(second);
    await store1(store, awaitingEvent(looking, { looks: true, disarm: ['inbox'] }));
    assert.deepEqual(Object.keys(await deadlinesOf(store, 'a')), ['deadline']);
  });
}

export function inboxTests(test: StoreTest): void {
  test('the alarm of an inbox outlives new deadlines; what comes later makes another of it', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, addressable('a'));
    await send(store, letter('s1'));
    const { inbox } = await deadlinesOf(store, 'a');
    await clock.advance(second);
    await send(store, letter('s2'));
    const { inbox: later } = await deadlinesOf(store, 'a');
    assert.ok(inbox !== undefined && later !== undefined && later < inbox, `${inbox}, ${later}`);
    await store1(store, sleeping(job, day));
    assert.deepEqual(await deadlinesOf(store, 'a'), { inbox: later, wake: clock.now() + day });
    assert.deepEqual((await store.due(9)).due.length, 1);
  });

  test('an inbox takes the same id once, and gives it out when it is taken', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const posts = [1, 2].map(() => ({ jobId: 'b', item: signalOf('s'), expiresAfterMs: null }));
    await store1(store, changeOf(newJob('b')));
    await store1(store, changeOf(job, { also: alsoOf({ posts }) }));
    assert.deepEqual(await inboxIds(store, 'b'), ['s']);
    const taken = changeOf(await read(store, 'b'), { also: alsoOf({ takes: ['s', 'none'] }) });
    await store1(store, taken);
    assert.deepEqual(await inboxIds(store, 'b'), []);
  });

  for (const [first, then] of [
    ['branch', 'signal'],
    ['signal', 'branch'],
    ['branch', 'branch'],
  ] as const)
    test(`an inbox in which a ${first} lies takes no ${then} of its id`, async ({ store }) => {
      const put = (job: Job, kind: InboxItem['kind'], body: number) => {
        const item = { id: 'p', kind, name: 'x', body };
        const posts = [{ jobId: 'a', item, expiresAfterMs: null }];
        return store1(store, changeOf(job, { scope: 'tasks', also: alsoOf({ posts }) }));
      };
      await put(newJob('a'), first, 1);
      await put(await read(store, 'a'), then, 2);
      assert.deepEqual(await store.inbox('a'), [{ id: 'p', kind: first, name: 'x', body: 1 }]);
    });

  test('an ended job has no inbox, nor has the next one of its id', async ({ store }) => {
    const job = await store1(store, addressable('a'));
    await send(store, letter('s1'));
    await store1(store, ending(job));
    const posts = [{ jobId: 'a', item: signalOf('s2'), expiresAfterMs: null }];
    await store1(store, changeOf(newJob('b'), { also: alsoOf({ posts }) }));
    assert.deepEqual([await store.inbox('a'), await store.inbox('nobody')], [[], []]);
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    const next = await store1(store, changeOf(newJob('a')));
    assert.deepEqual(await store.inbox('a'), []);
    assert.deepEqual(await types(store, early(next, signalOf('s1'))), ['done']);
  });
}

export function seenTests(test: StoreTest): void {
  test('S-59 a signal is taken once, and its id is seen after that', async ({ store, reopen }) => {
    const job = await store1(store, changeOf(newJob('a')));
    await store1(store, changeOf(newJob('b')));
    const taking = (of: Job) => changeOf(of, { also: alsoOf({ signalId: 's1' }) });
    const after = await store1(store, taking(job));
    assert.deepEqual(await types(store, taking(after), early(after, signalOf('s1'))), [
      'seen',
      'seen',
    ]);
    const reopened = await reopen();
    assert.deepEqual(await types(reopened, taking(after), taking(await read(reopened, 'b'))), [
      'seen',
      'done',
    ]);
  });

  test('S-59 a change that was refused has seen nothing', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const also = alsoOf({ signalId: 's1' });
    const stale = changeOf({ ...job, version: 9 }, { also });
    const stuck = { ...awaitingEvent(job), timers: [], also };
    assert.deepEqual(await types(store, stale, stuck, changeOf(job, { also })), [
      'stale',
      'no_cause',
      'done',
    ]);
  });

  test('S-59 of two signals with one id in one commit, one is taken', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const twice = [early(job, signalOf('s')), early(job, signalOf('s', 'other'))];
    assert.deepEqual(await types(store, ...twice), ['done', 'seen']);
    assert.deepEqual(await store.inbox('a'), [signalOf('s')]);
  });
}

export function letterTests(test: StoreTest): void {
  test('S-59 a letter comes into the inboxes of all who registered its key, and rings', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, addressable('b'));
    await commit(store, addressable('a'), addressable('other', {}, 'order-8'));
    await commit(store, addressable('foreign', { client: 'eve' }));
    assert.deepEqual(await send(store, letter('s1')), [['b', 'a']]);
    assert.deepEqual(await store.addressed('dev', 'order-7'), ['b', 'a']);
    for (const id of ['a', 'b']) {
      assert.deepEqual(await store.inbox(id), [signalOf('s1')]);
      assert.equal((await deadlinesOf(store, id))['inbox'], clock.now());
    }
    for (const id of ['other', 'foreign']) assert.deepEqual(await store.inbox(id), []);
    assert.deepEqual(await read(store, 'b'), job);
  });

  test('S-59 the same letter again reaches the same jobs, and changes nothing', async ({
    store,
  }) => {
    const job = await store1(store, addressable('a'));
    await send(store, letter('s1'));
    const also = alsoOf({ takes: ['s1'], disarm: ['inbox'] });
    const after = await store1(store, changeOf(job, { also }));
    assert.deepEqual(await send(store, letter('s1'), letter('s1')), [['a'], ['a']]);
    assert.deepEqual(await store.inbox('a'), []);
    assert.deepEqual(Object.keys(await deadlinesOf(store, 'a')), ['deadline']);
    assert.deepEqual(await types(store, early(after, signalOf('s1'))), ['seen']);
  });

  test('S-59 a letter that came too early waits for whoever registers its key', async ({
    store,
    clock,
    reopen,
  }) => {
    const early1 = [letter('s1'), letter('s2'), letter('s1'), letter('x', { client: 'eve' })];
    assert.deepEqual(await send(store, ...early1), [[], [], [], []]);
    const reopened = await reopen();
    await store1(reopened, addressable('a'));
    await store1(reopened, addressable('late'));
    assert.deepEqual(await inboxIds(reopened, 'a'), ['s1', 's2']);
    const { inbox } = await deadlinesOf(reopened, 'a');
    assert.ok(inbox !== undefined && inbox <= clock.now(), `${inbox}`);
    assert.deepEqual(await inboxIds(reopened, 'late'), []);
  });

  test('a letter is kept as long as it says, in an inbox too', async ({ store, clock }) => {
    await send(store, letter('short', { keepForMs: second }), letter('none', { keepForMs: 0 }));
    await send(store, letter('long', { keepForMs: 3 * second }));
    await clock.advance(second);
    await send(store, letter('short', { keepForMs: second }));
    await clock.advance(second - 1);
    await store1(store, addressable('a'));
    assert.deepEqual(await inboxIds(store, 'a'), ['long', 'short']);
    await clock.advance(1);
    assert.deepEqual(await inboxIds(store, 'a'), ['long']);
    await clock.advance(second);
    assert.deepEqual(await inboxIds(store, 'a'), []);
  });

  test('an ended job has no address, and takes no letter from the next one', async ({ store }) => {
    const job = await store1(store, addressable('a'));
    await store1(store, ending(job));
    assert.deepEqual(await send(store, letter('s1')), [[]]);
    const brief = { ...ending(newJob('brief')), also: alsoOf({ keys: ['order-7'] }) };
    await store1(store, brief);
    assert.deepEqual(await store.addressed('dev', 'order-7'), []);
    await store1(store, addressable('b'));
    assert.deepEqual(await inboxIds(store, 'b'), ['s1']);
  });

  test('a quarantined job keeps its addresses', async ({ store }) => {
    const job = await store1(store, addressable('a'));
    await store1(store, changeOf({ ...job, status: 'quarantined', wait: null }, { timers: [] }));
    assert.deepEqual(await send(store, letter('s1')), [['a']]);
  });

  test('a letter comes after the changes of its commit', async ({ store }) => {
    const changes = [{ change: addressable('a') }];
    const { letters } = await store.commit({ changes, letters: [letter('s1')] });
    assert.deepEqual(letters, [['a']]);
  });
}

export function attributeTests(test: StoreTest): void {
  const tagged = (id: string, attributes: Job['options']['attributes']) =>
    changeOf(newJob(id, { options: { ...newJob(id).options, attributes } }));

  test('S-44 jobs are listed by the values of their attributes, hot and ended alike', async ({
    store,
  }) => {
    await commit(
      store,
      tagged('a', { order: 7, tags: { z: 1, a: [true] } }),
      tagged('b', { order: 7 }),
      tagged('c', { order: '7' }),
      tagged('d', { order: 7, tags: { a: [true], z: 1 }, gone: null }),
      changeOf(newJob('e')),
    );
    await store1(store, ending(await read(store, 'd')));
    const list = async (attributes: Job['options']['attributes'], more: object = {}) =>
      (await store.jobs({ attributes, limit: 9, ...more })).map(({ id }) => id);
    assert.deepEqual(await list({ order: 7 }), ['d', 'b', 'a']);
    assert.deepEqual(await list({ order: 7 }, { before: 'd', limit: 1 }), ['b']);
    assert.deepEqual(await list({ order: 7 }, { status: ['finished'] }), ['d']);
    assert.deepEqual(await list({ order: '7' }), ['c']);
    assert.deepEqual(await list({ tags: { a: [true], z: 1 }, order: 7 }), ['d', 'a']);
    assert.deepEqual(await list({ order: 7 }, { client: 'eve' }), []);
    assert.deepEqual(await list({ gone: null }), ['d']);
    assert.deepEqual([await list({ constructor: null }), (await list({})).length], [[], 5]);
  });

  test('H-36 jobs are listed by their correlation id, hot and ended alike', async ({ store }) => {
    const linked = (id: string, correlationId: string) => changeOf(newJob(id, { correlationId }));
    await commit(store, linked('a', 'demo'), linked('b', 'demo'), linked('c', 'Demo'));
    await store1(store, ending(await read(store, 'b')));
    const list = async (correlationId: string, more: object = {}) =>
      (await store.jobs({ correlationId, limit: 9, ...more })).map(({ id }) => id);
    assert.deepEqual(await list('demo'), ['b', 'a']);
    assert.deepEqual(await list('demo', { limit: 1 }), ['b']);
    assert.deepEqual(await list('demo', { before: 'b' }), ['a']);
    assert.deepEqual([await list('demo', { client: 'eve' }), await list('none')], [[], []]);
  });

  test('A-46 a forgotten job is in no list', async ({ store }) => {
    const job = await store1(store, tagged('a', { order: 7 }));
    await store1(store, ending(job));
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    await store1(store, tagged('a', { order: 8 }));
    assert.deepEqual(await store.jobs({ attributes: { order: 7 }, limit: 9 }), []);
  });
}
