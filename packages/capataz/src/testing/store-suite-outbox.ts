import assert from 'node:assert/strict';
import type { Emitted } from '../core/change.ts';
import { isFinal, jobStatuses, workerStatuses } from '../core/status.ts';
import type { DeadLetter, DeadLetterQuery, Store } from '../store/contract.ts';
import {
  alsoOf,
  changeOf,
  claim,
  dispatching,
  newJob,
  read,
  type StoreTest,
  second,
  store1,
  workerOf,
  year,
} from './store-suite-kit.ts';

/** Events on their way to the bus, and those that nobody would take. */

function emitted(id: string, number: number): Emitted {
  return { id, number, exchange: 'topic', name: 'done', payload: { of: id } };
}

/** A job whose first step emits these. */
function emitting(store: Store, jobId: string, ...ids: readonly string[]) {
  const also = alsoOf({ emits: ids.map((id, index) => emitted(id, index + 1)) });
  return store1(store, changeOf(newJob(jobId), { also }));
}

async function dueIds(store: Store): Promise<string[]> {
  return (await store.outbox(10, 30_000)).events.map(({ id }) => id);
}

export function outboxTests(test: StoreTest): void {
  test('S-58 an event is stored with its change, and names its job, its place and its correlation', async ({
    store,
    clock,
  }) => {
    await emitting(store, 'a', 'e1');
    assert.deepEqual((await store.outbox(10, 30_000)).events, [
      {
        id: 'e1',
        jobId: 'a',
        client: 'dev',
        sequence: 1,
        exchange: 'topic',
        name: 'done',
        payload: { of: 'e1' },
        correlationId: 'c-a',
        trace: null,
        createdAt: clock.now(),
        retryCount: 0,
        lastError: null,
      },
    ]);
    assert.equal((await store.counts()).outbox, 1);
  });

  test('S-47 events of one job go one after the other, jobs beside each other', async ({
    store,
  }) => {
    await emitting(store, 'a', 'a1', 'a2');
    await emitting(store, 'b', 'b1');
    assert.deepEqual(await dueIds(store), ['a1', 'b1']);
    await store.settleOutbox([{ type: 'published', id: 'a1' }]);
    assert.deepEqual(await dueIds(store), ['a2', 'b1']);
    await store.settleOutbox(['b1', 'a2'].map((id) => ({ type: 'published', id })));
    assert.deepEqual(await store.outbox(10, 30_000), { events: [], nextInMs: null });
    assert.equal((await store.counts()).outbox, 0);
  });

  test('H-38 a failed try counts, keeps its error and waits; what comes behind it waits, too', async ({
    store,
    clock,
  }) => {
    await emitting(store, 'a', 'a1', 'a2');
    await store.settleOutbox([
      { type: 'failed', id: 'a1', error: 'the bus is down', retryAfterMs: 5 * second },
    ]);
    assert.deepEqual(await store.outbox(10, 30_000), { events: [], nextInMs: 5 * second });
    await clock.advance(5 * second);
    const [event] = (await store.outbox(10, 30_000)).events;
    assert.deepEqual(
      [event?.id, event?.retryCount, event?.lastError],
      ['a1', 1, 'the bus is down'],
    );
  });
}

export function deadLetterTests(test: StoreTest): void {
  test('H-39 H-40 H-v a dead letter leaves the outbox with all that it was, and is counted', async ({
    store,
    clock,
    reopen,
  }) => {
    await emitting(store, 'a', 'a1', 'a2');
    const [before] = (await store.outbox(1, 30_000)).events;
    await clock.advance(second);
    await store.settleOutbox([{ type: 'dead', id: 'a1', error: 'refused' }]);
    const reopened = await reopen();
    assert.deepEqual(await dueIds(reopened), ['a2']);
    assert.deepEqual(await reopened.deadLetters({ limit: 10 }), [
      {
        ...before,
        retryCount: 1,
        lastError: 'refused',
        movedAt: clock.now(),
        resolvedAt: null,
        resolvedBy: null,
        notes: null,
      },
    ]);
    assert.equal((await reopened.counts()).deadLetters, 1);
  });

  test('H-v H-41 a letter is redriven or resolved once, and a resolved one stays to be seen', async ({
    store,
    clock,
  }) => {
    await emitting(store, 'a', 'a1');
    await emitting(store, 'b', 'b1');
    await store.settleOutbox(['a1', 'b1'].map((id) => ({ type: 'dead', id, error: 'no' })));
    assert.deepEqual(await store.redriveLetters(['a1', 'a1', 'nobody']), ['a1']);
    const [event] = (await store.outbox(10, 30_000)).events;
    assert.deepEqual([event?.id, event?.retryCount], ['a1', 0]);
    assert.deepEqual(await store.resolveLetters(['b1', 'a1'], 'ana', 'known'), ['b1']);
    assert.deepEqual(await store.resolveLetters(['b1'], 'ana', 'again'), []);
    assert.deepEqual(await store.redriveLetters(['b1']), []);
    assert.deepEqual(await store.deadLetters({ limit: 10 }), []);
    const [letter] = await store.deadLetters({ limit: 10, resolvedToo: true });
    assert.deepEqual(
      [letter?.id, letter?.resolvedAt, letter?.resolvedBy, letter?.notes],
      ['b1', clock.now(), 'ana', 'known'],
    );
    assert.equal((await store.counts()).deadLetters, 0);
  });
}

/** Where they are looked for, and how long they stay. */
export function deadLetterRoomTests(test: StoreTest): void {
  test('H-41 dead letters are found by client, name, job and id, also when their job is forgotten', async ({
    store,
    clock,
  }) => {
    for (const [id, client] of [
      ['a', 'dev'],
      ['b', 'other'],
    ] as const) {
      const also = alsoOf({ emits: [{ ...emitted(`${id}1`, 1), name: `name-${id}` }] });
      const job = newJob(id, { client, status: 'finished', endedAt: clock.now() });
      await store1(store, changeOf(job, { also }));
    }
    await store.settleOutbox(['a1', 'b1'].map((id) => ({ type: 'dead', id, error: 'no' })));
    await clock.advance(second);
    await store.forgetEnded({ olderThanMs: 0, keepAtMost: null, limit: 10 });
    assert.deepEqual([await store.job('a'), await store.job('b')], [null, null]);
    const found = async (query: Partial<DeadLetterQuery>): Promise<string[]> =>
      (await store.deadLetters({ limit: 10, ...query })).map(({ id }) => id);
    assert.deepEqual(await found({}), ['a1', 'b1']);
    assert.deepEqual(await found({ client: 'other' }), ['b1']);
    assert.deepEqual(await found({ name: 'name-a' }), ['a1']);
    assert.deepEqual(await found({ jobId: 'b' }), ['b1']);
    assert.deepEqual(await found({ ids: ['b1', 'c1'] }), ['b1']);
    assert.deepEqual(await found({ client: 'dev', ids: ['b1'] }), []);
  });

  test('A-46 resolved dead letters are forgotten by their age, unresolved ones never', async ({
    store,
    clock,
  }) => {
    const ids = ['e1', 'e2', 'e3'];
    for (const id of ids) await emitting(store, `job-${id}`, id);
    await store.settleOutbox(ids.map((id) => ({ type: 'dead', id, error: 'no' })));
    await store.resolveLetters(['e1'], 'ana', '');
    await clock.advance(second);
    await store.resolveLetters(['e2'], 'ana', '');
    const left = async (): Promise<string[]> =>
      (await store.deadLetters({ limit: 10, resolvedToo: true })).map(({ id }) => id);
    assert.equal(await store.forgetLetters(second, 10), 0);
    await clock.advance(1);
    assert.deepEqual([await store.forgetLetters(second, 10), await left()], [1, ['e2', 'e3']]);
    await clock.advance(year);
    assert.deepEqual([await store.forgetLetters(second, 10), await left()], [1, ['e3']]);
    assert.equal(await store.forgetLetters(0, 10), 0);
  });

  test('dead letters are read page by page in the order in which they were given up, whatever goes meanwhile', async ({
    store,
    clock,
  }) => {
    const ids = ['e5', 'e1', 'e4', 'e2', 'e3'];
    for (const id of ids.toSorted()) await emitting(store, `job-${id}`, id);
    for (const id of ids) {
      await store.settleOutbox([{ type: 'dead', id, error: 'no' }]);
      await clock.advance(1);
    }
    for (const limit of [1, 2, 3]) {
      const read: DeadLetter[] = [];
      for (;;) {
        const last = read.at(-1);
        const page = await store.deadLetters({
          limit,
          ...(last === undefined ? {} : { after: last }),
        });
        read.push(...page);
        if (page.length < limit) break;
      }
      assert.deepEqual(
        read.map(({ id }) => id),
        ids,
      );
    }
    const [, last] = await store.deadLetters({ limit: 2 });
    assert.ok(last !== undefined);
    await store.redriveLetters([last.id]);
    const rest = await store.deadLetters({ limit: 9, after: last });
    assert.deepEqual(
      rest.map(({ id }) => id),
      ['e4', 'e2', 'e3'],
    );
  });
}

export function stuckTests(test: StoreTest): void {
  test('H-23 attempts are found by status and age, the oldest first, at most so many', async ({
    store,
    clock,
  }) => {
    for (const id of ['a', 'b', 'c']) {
      await store1(store, dispatching(id));
      await claim(store, { max: 1 });
      await clock.advance(second);
    }
    const found = async (olderThanMs: number, limit = 10): Promise<string[]> => {
      const stuck = await store.stuck({ status: 'ASSIGNED', olderThanMs, limit });
      return stuck.map(({ jobId }) => jobId);
    };
    assert.deepEqual(await found(2 * second), ['a', 'b']);
    assert.deepEqual(await found(0, 2), ['a', 'b']);
    assert.deepEqual(await found(0), ['a', 'b', 'c']);
    assert.deepEqual(await store.stuck({ status: 'SCHEDULED', olderThanMs: 0, limit: 10 }), []);
    const [first] = await store.stuck({ status: 'ASSIGNED', olderThanMs: 0, limit: 1 });
    const [task] = await store.tasks(['a']);
    assert.deepEqual(first, { jobId: 'a', taskId: task?.id, attempt: task?.attempt?.id });
  });

  test('H-qq every status of a job and of a worker can be stored and read back', async ({
    store,
  }) => {
    for (const status of jobStatuses) {
      const held = !isFinal(status) && status !== 'quarantined';
      await store1(store, changeOf(newJob(status, { status, held })));
      assert.equal((await read(store, status)).status, status);
    }
    for (const status of workerStatuses) {
      await store.saveWorker(workerOf(status, { status }), second);
    }
    const stored = (await store.workers()).map(({ worker }) => worker.status);
    assert.deepEqual(new Set(stored), new Set(workerStatuses));
  });
}
