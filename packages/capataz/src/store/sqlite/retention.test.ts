import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Change } from '../../core/change.ts';
import type { Job } from '../../core/job.ts';
import {
  changeOf,
  commit,
  dispatching,
  doneJob,
  ending,
  newJob,
  store1,
} from '../../testing/store-suite-kit.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import type { ChangeRequest, Forget, Store } from '../contract.ts';
import { openSqliteStore, type SqliteStore } from './index.ts';
import { migrate } from './migrate.ts';
import { statementText } from './statements.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A folder of its own, kept for a look when the body fails. */
async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-retention-'));
  await body(folder);
  rmSync(folder, { recursive: true });
}

/** Rows of every table. */
function rowsIn(folder: string): Record<string, number> {
  const database = new DatabaseSync(join(folder, 'capataz.db'), { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => String(name));
  const counted = tables.map((table) => {
    const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    return [table, Number(row?.n)] as const;
  });
  database.close();
  return Object.fromEntries(counted);
}

/** Until nothing is left to forget. @returns how many jobs each call forgot. */
async function sweep(store: Store, what: Partial<Forget>): Promise<number[]> {
  const counts: number[] = [];
  for (let more = true; more; ) {
    const forgotten = await store.forgetEnded({ ...nothing, ...what });
    ({ more } = forgotten);
    counts.push(forgotten.jobIds.length);
  }
  return counts;
}

const nothing: Forget = { olderThanMs: null, keepAtMost: null, limit: 500 };

function keyed(id: string, key: string): ChangeRequest {
  return { change: changeOf(newJob(id)), idempotency: { key, bodyHash: 'h' } };
}

function over(id: string, fields: Partial<Job> = {}): Change {
  return changeOf(newJob(id, { status: 'finished', state: 'done', ...fields }));
}

/** In two commits, as short jobs are. */
async function endMany(store: Store, ids: readonly string[]): Promise<void> {
  const outcomes = await commit(store, ...ids.map((id) => keyed(id, id)));
  await commit(store, ...outcomes.map((outcome) => ending(doneJob(outcome))));
}

/** 1,000 jobs a minute, each with an idempotency key, and a sweep a minute, as the engine does it. */
class Traffic {
  readonly clock = new VirtualClock();
  readonly folder: string;
  #jobs = 0;
  #store: SqliteStore | null = null;

  constructor(folder: string) {
    this.folder = folder;
  }

  get store(): SqliteStore {
    assert.ok(this.#store !== null, 'it is not open');
    return this.#store;
  }

  async open(): Promise<void> {
    await this.#store?.close();
    const { folder, clock } = this;
    this.#store = await openSqliteStore({ folder, clock, synchronous: 'normal' });
  }

  async minutes(count: number): Promise<void> {
    for (let round = 0; round < count; round += 1) {
      const ids = Array.from({ length: 1_000 }, (_, index) => `job ${this.#jobs + index}`);
      this.#jobs += ids.length;
      await endMany(this.store, ids);
      await this.wait(minute);
    }
  }

  async wait(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await sweep(this.store, { olderThanMs: hour });
  }

  get bytes(): number {
    return statSync(join(this.folder, 'capataz.db')).size;
  }
}

/** What the API counts, after a look whether the tables hold as much. */
async function endedJobs({ store, folder }: Traffic): Promise<number> {
  const { finished = 0 } = (await store.counts()).jobs;
  const { ended_jobs: rows, inputs } = rowsIn(folder);
  assert.deepEqual([rows, inputs], [finished, finished + openCount]);
  return finished;
}

const openCount = 2;

async function addOpenJobs({ store }: Traffic): Promise<void> {
  await store1(store, changeOf(newJob('parked', { status: 'quarantined' })));
  await store1(store, dispatching('waits', {}, [{ name: 'result', afterMs: 99 * day }]));
}

test('B-088: of 100,000 jobs kept for an hour, rows, keys and file space come back', () =>
  inFolder(async (folder) => {
    const traffic = new Traffic(folder);
    await traffic.open();
    // The counters stay.
    await endMany(traffic.store, ['first']);
    await traffic.wait(2 * day);
    await addOpenJobs(traffic);
    const baseLine = rowsIn(folder);
    const openJobs = await traffic.store.causes({ after: '', limit: 9 });

    await traffic.minutes(50);
    assert.equal(await endedJobs(traffic), 50_000);
    await traffic.open();
    await traffic.minutes(15);
    assert.equal(await endedJobs(traffic), 60_000);
    const { bytes } = traffic;
    await traffic.minutes(35);
    assert.equal(await endedJobs(traffic), 60_000);
    // Pages of what went are used again; only the keys grow on, for 24 h.
    assert.ok(traffic.bytes < 1.15 * bytes, `${traffic.bytes} after ${bytes} bytes`);

    await traffic.wait(2 * hour);
    assert.equal(await endedJobs(traffic), 0);
    assert.deepEqual(rowsIn(folder), { ...baseLine, idempotency: 100_000 });
    assert.deepEqual(await commit(traffic.store, keyed('again', 'job 7')), [
      { type: 'duplicate', jobId: 'job 7' },
    ]);
    await traffic.wait(day);
    assert.deepEqual(rowsIn(folder), baseLine);
    assert.deepEqual(await traffic.store.causes({ after: '', limit: 9 }), openJobs);
    assert.deepEqual((await traffic.store.counts()).jobs, {
      quarantined: 1,
      waiting_for_worker: 1,
    });
    await traffic.store.close();
  }));

test('B-088: a book longer than a call deletes goes piece by piece, the job with the last', () =>
  inFolder(async (folder) => {
    const store = await openSqliteStore({ folder, clock: new VirtualClock() });
    await commit(store, over('small'), over('long'), over('next'));
    const note = { jobId: 'long', entries: [{ type: 'signal_refused' as const }] };
    await store.commit({ notes: Array.from({ length: 25_000 }, () => note) });
    const all = { ...nothing, keepAtMost: 0 };
    assert.deepEqual(await store.forgetEnded(all), { jobIds: ['small'], more: true });
    assert.deepEqual(await store.forgetEnded(all), { jobIds: [], more: true });
    assert.equal((await store.history('long', 0, 1))[0]?.seq, 10_001);
    assert.equal((await store.counts()).jobs.finished, 2);
    assert.deepEqual(await store.forgetEnded(all), { jobIds: [], more: true });
    assert.deepEqual(await store.forgetEnded(all), { jobIds: ['long', 'next'], more: false });
    assert.deepEqual([rowsIn(folder).history, rowsIn(folder).inputs], [0, 0]);
    await store.close();
  }));

test('B-088: a call frees a bounded number of pages, however large the payloads', () =>
  inFolder(async (folder) => {
    const store = await openSqliteStore({ folder, clock: new VirtualClock() });
    const text = 'x'.repeat(4 * 1_024 * 1_024);
    const ids = Array.from({ length: 15 }, (_, index) => `job ${index}`);
    for (const id of ids) await store1(store, over(id, { input: { text } }));
    assert.deepEqual(await sweep(store, { keepAtMost: 0 }), [10, 5]);
    await store.close();
  }));

test('A-46 no statement of the removal looks through a table', () => {
  const database = new DatabaseSync(':memory:');
  migrate(database);
  const names = ['ended-oldest', 'ended-delete', 'input-delete', 'book-weigh', 'book-cut'];
  for (const name of names) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${statementText(name)}`).all();
    const steps = plan.map(({ detail }) => String(detail)).join('; ');
    assert.match(steps, /SEARCH|SCAN e\b/, name);
    assert.doesNotMatch(steps, /TEMP B-TREE|SCAN (?!e\b)/, `${name}: ${steps}`);
  }
  database.close();
});
