/** The history as it goes from one partition into the next, and loses the oldest. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type pg from 'pg';
import { changeOf, commit, ending, newJob, read, store1 } from '../../testing/store-suite-kit.ts';
import type { JobEvent, Store } from '../contract.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();
/** Of a partition of a store that has never been busy. */
const positions = 1_000_000;

interface Place {
  readonly store: Store;
  readonly schema: string;
  /** Runs SQL in the store's schema, beside the store. */
  readonly run: (text: string) => Promise<pg.QueryResult>;
  readonly parts: () => Promise<number[]>;
}

async function withStore(body: (place: Place) => Promise<void>): Promise<void> {
  const schema = schemas.newName();
  const store = await schemas.open(schema);
  const client = await schemas.pool.connect();
  const run = (text: string): Promise<pg.QueryResult> => client.query(text);
  await run(`SET search_path = ${schema}`);
  const parts = async (): Promise<number[]> => {
    const { rows } = await run('SELECT first FROM history_parts ORDER BY first');
    return rows.map(({ first }) => Number(first));
  };
  try {
    await body({ store, schema, run, parts });
  } finally {
    client.release(true);
    await store.close();
    await schemas.drop(schema);
  }
}

async function events(store: Store): Promise<readonly JobEvent[]> {
  return (await store.events(0, 99)).events;
}

function startAll(store: Store, ...ids: readonly string[]) {
  return Promise.all(ids.map((id) => store1(store, changeOf(newJob(id)))));
}

test('S-46 a book and the events of all jobs go on from one partition into the next', () =>
  withStore(async ({ store, run, parts }) => {
    assert.deepEqual(await parts(), [1, 1 + positions]);
    await run(`SELECT setval('positions', ${positions - 2})`);
    for (const id of ['a', 'b', 'c', 'd']) await startAll(store, id);
    await commit(store, changeOf(await read(store, 'a')));
    const found = await events(store);
    assert.deepEqual(
      found.map(({ jobId, position }) => [jobId, position - positions]),
      [
        ['a', -1],
        ['b', 0],
        ['c', 1],
        ['d', 2],
        ['a', 3],
      ],
    );
    assert.equal((await store.history('a', 0, 9)).length, 2);
    assert.deepEqual((await store.events(positions, 2)).events, found.slice(2, 4));
  }));

test('behind the last partition a commit makes another one', () =>
  withStore(async ({ store, run, parts }) => {
    await startAll(store, 'a');
    await run(`SELECT setval('positions', ${7 * positions})`);
    await startAll(store, 'b', 'c');
    assert.equal((await parts()).length, 3);
    assert.deepEqual(
      (await events(store)).map(({ jobId }) => jobId),
      ['a', 'b', 'c'],
    );
  }));

test('a partition is made without waiting for those who write and read', () =>
  withStore(async ({ store, schema, run, parts }) => {
    await startAll(store, 'a');
    await run(
      "BEGIN; INSERT INTO history (position, job, seq, at, count, entries) VALUES (2, 'x', 1, 1, 0, '[]')",
    );
    await run(`SELECT count(*) FROM history; SELECT setval('positions', ${2 * positions - 9})`);
    // It looks whether there is one ahead.
    const next = await schemas.open(schema);
    assert.deepEqual(await parts(), [1, 1 + positions, 1 + 2 * positions]);
    await run('ROLLBACK');
    await next.close();
  }));

test('A-46 a partition goes with the last of what it held, and not before', () =>
  withStore(async ({ store, run, parts }) => {
    const forget = () => store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    const [, waits] = await startAll(store, 'a', 'waits');
    await commit(store, ending(await read(store, 'a')));
    await run(`SELECT setval('positions', ${positions})`);
    await startAll(store, 'b');
    assert.deepEqual(await forget(), { jobIds: ['a'], more: false });
    assert.deepEqual(await parts(), [1, 1 + positions]);
    await commit(store, ending(waits ?? newJob('waits')));
    // Whoever reads there just now is not disturbed: it is dropped another time.
    await run('BEGIN; SELECT count(*) FROM history');
    assert.deepEqual(await forget(), { jobIds: ['waits'], more: false });
    await run('COMMIT');
    assert.deepEqual(await parts(), [1, 1 + positions]);
    const before = await store.now();
    await forget();
    assert.deepEqual(await parts(), [1 + positions]);
    assert.ok((await store.now()) >= before);
    assert.deepEqual(
      (await events(store)).map(({ jobId }) => jobId),
      ['b'],
    );
  }));
