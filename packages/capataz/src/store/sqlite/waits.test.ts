import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  alsoOf,
  awaitingEvent,
  awaitingKey,
  changeOf,
  claim,
  collecting,
  commit,
  day,
  dispatching,
  ending,
  fanningOut,
  leasing,
  newJob,
  read,
  requeueing,
  second,
  signalOf,
  store1,
} from '../../testing/store-suite-kit.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { openSqliteStore, type SqliteStore } from './index.ts';

interface Place {
  readonly store: SqliteStore;
  readonly clock: VirtualClock;
  /** Another connection to the same file. */
  readonly database: DatabaseSync;
}

async function inPlace(body: (place: Place) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-waits-'));
  const clock = new VirtualClock();
  const store = await openSqliteStore({ folder, clock, synchronous: 'normal' });
  const database = new DatabaseSync(join(folder, 'capataz.db'));
  try {
    await body({ store, clock, database });
  } finally {
    database.close();
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

function rowsOf(database: DatabaseSync, ...tables: readonly string[]): number[] {
  return tables.map((table) =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']),
  );
}

const ofJobs = ['inbox', 'seen', 'addresses', 'memos', 'waiters', 'reservations', 'tasks'];

/** Counts how often rows of jobs are written from now on. */
function watchJobs(database: DatabaseSync): () => number {
  database.exec(`CREATE TABLE written (id TEXT);
    CREATE TRIGGER watch AFTER UPDATE ON jobs BEGIN INSERT INTO written VALUES (new.id); END`);
  return () => rowsOf(database, 'written')[0] ?? 0;
}

test('S-30 a branch result does not write the row of its job, until the last one rings', () =>
  inPlace(async ({ store, database }) => {
    const job = await store1(store, fanningOut(newJob('a'), 3));
    const { tasks } = await claim(store, { max: 3 });
    const written = watchJobs(database);
    const counts: number[] = [];
    for (const task of tasks) {
      await store1(store, collecting(job, task));
      counts.push(written());
    }
    assert.deepEqual(counts, [0, 0, 1]);
  }));

test('S-30 a retry that leaves its job as it is does not write it', () =>
  inPlace(async ({ store, database }) => {
    const job = await store1(store, dispatching('a'));
    const { tasks } = await claim(store);
    const [task] = tasks;
    assert.ok(task !== undefined);
    const written = watchJobs(database);
    await store1(store, { ...requeueing(job, task), scope: 'tasks' });
    assert.deepEqual([written(), await read(store, 'a')], [0, job]);
  }));

test('an ended job leaves no row behind but the signals that it took, and those go with it', () =>
  inPlace(async ({ store, database }) => {
    const full = { key: 'k', amount: 1, limit: 9, expiresAfterMs: null, until: 'wait' as const };
    const fanned = { ...fanningOut(newJob('a'), 2), reservations: [full] };
    const job = await store1(store, fanned);
    const { tasks } = await claim(store, { max: 1 });
    for (const task of tasks) await store1(store, collecting(job, task));
    const keyed = await store1(
      store,
      awaitingEvent(newJob('b'), { keys: ['order-7'], signalId: 's' }),
    );
    const item = signalOf('s2');
    await store.commit({ letters: [{ client: 'dev', key: 'order-7', item, keepForMs: day }] });
    const waiting = await store1(store, awaitingKey(newJob('c'), 'other'));
    const leased = await store1(store, leasing(newJob('d'), 't', second));
    await store.saveMemo({ jobId: 'd', token: 't', name: 'm', value: 1 });
    assert.deepEqual(rowsOf(database, ...ofJobs), [2, 2, 1, 1, 1, 1, 1]);
    await commit(store, ...[job, keyed, waiting, leased].map((each) => ending(each)));
    const left = ofJobs.filter((table) => table !== 'seen');
    assert.deepEqual(rowsOf(database, 'jobs', ...left), Array(7).fill(0));
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 10 });
    assert.deepEqual(rowsOf(database, 'seen'), [0]);
  }));

test('attributes stay until their job is forgotten', () =>
  inPlace(async ({ store, database }) => {
    const options = { ...newJob('a').options, attributes: { order: 7, kind: 'x' } };
    const job = await store1(store, changeOf(newJob('a', { options })));
    await store1(store, ending(job));
    assert.deepEqual(rowsOf(database, 'attributes'), [2]);
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 1 });
    assert.deepEqual(rowsOf(database, 'attributes'), [0]);
  }));

test('letters that nobody fetched and settled shares are swept when they have run out', () =>
  inPlace(async ({ store, clock, database }) => {
    const share = { key: 'k', amount: 1, limit: 1, until: 'job' as const };
    const reservations = [{ ...share, expiresAfterMs: 90 * second }];
    const job = await store1(store, changeOf(newJob('a'), { reservations }));
    const settles = [{ key: 'k', amount: 0.5 }];
    await store1(store, changeOf(job, { also: alsoOf({ settles }) }));
    const letter = { client: 'dev', key: 'order-7', keepForMs: 90 * second };
    await store.commit({ letters: [{ ...letter, item: signalOf('s') }] });
    const counts: number[][] = [];
    for (const id of ['x', 'y']) {
      await clock.advance(61 * second);
      await commit(store, changeOf(newJob(id)));
      counts.push(rowsOf(database, 'letters', 'reservations'));
    }
    assert.deepEqual(counts, [
      [1, 1],
      [0, 0],
    ]);
  }));
