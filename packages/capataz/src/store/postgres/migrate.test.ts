import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../std/clock.ts';
import type { Migration } from '../../std/migrations.ts';
import { changeOf, newJob, store1 } from '../../testing/store-suite-kit.ts';
import type { Store } from '../contract.ts';
import { move } from '../move.ts';
import { openPostgresChest } from './chest.ts';
import { Schemas } from './fixtures/schemas.ts';
import { migrate, readMigrations } from './migrate.ts';
import { admit } from './occupancy.ts';

const schemas = Schemas.ofThisFile();

async function inSchema(work: (schema: string) => Promise<void>): Promise<void> {
  const schema = schemas.newName();
  try {
    await work(schema);
  } finally {
    await schemas.drop(schema);
  }
}

/** As an instance of a later version does it when it starts. */
async function migrateLater(schema: string, ...later: readonly Migration[]): Promise<Migration[]> {
  const client = new pg.Client({
    connectionString: schemas.url,
    options: `-c search_path=${schema}`,
  });
  await client.connect();
  try {
    return await migrate(client, schema, {
      migrations: [...readMigrations(), ...later],
      admit: (isBreaking) => admit(client, schema, isBreaking),
    });
  } finally {
    await client.end();
  }
}

const more = {
  number: 9_001,
  name: '9001-more.sql',
  text: 'CREATE TABLE more (a integer)',
  breaking: false,
};
const breaking = {
  number: 9_002,
  name: '9002-breaking.sql',
  text: 'ALTER TABLE memos ADD COLUMN b text',
  breaking: true,
};

/** Ends the connections that are on a schema, as a restart of the server does. */
async function cutOff(schema: string): Promise<void> {
  await schemas.pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
    [`capataz ${schema}`],
  );
}

/** The connections of a pool find out one by one that they were cut off. */
async function refusalOf(store: Store, code: string): Promise<unknown> {
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      await store.job('a');
    } catch (error) {
      if ((error as { code?: unknown }).code === code) return error;
    }
  }
  return null;
}

test('instances that start at once on nothing, or on an older schema, migrate it once', () =>
  inSchema(async (schema) => {
    const stores = await Promise.all([1, 2, 3, 4].map(() => schemas.open(schema)));
    for (const store of stores) await store.close();
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateLater(schema, more)));
    assert.deepEqual(
      applied.flat().map(({ name }) => name),
      ['9001-more.sql'],
    );
    const { rows } = await schemas.pool.query<{ number: number }>(
      `SELECT number FROM ${schema}.migrations ORDER BY number`,
    );
    assert.deepEqual(
      rows.map(({ number }) => number),
      [...readMigrations(), more].map(({ number }) => number),
    );
  }));

test('a migration that fails leaves the schema as it was', () =>
  inSchema(async (schema) => {
    await (await schemas.open(schema)).close();
    const broken = { ...more, text: 'CREATE TABLE more (a integer); SELECT nothing()' };
    await assert.rejects(migrateLater(schema, broken), /nothing\(\)/);
    assert.deepEqual(await migrateLater(schema, more), [more]);
  }));

test('an instance of the version before goes on beside a migration that only adds', () =>
  inSchema(async (schema) => {
    const store = await schemas.open(schema);
    await migrateLater(schema, more);
    await store1(store, changeOf(newJob('a')));
    await cutOff(schema);
    await refusalOf(store, 'none');
    assert.equal((await store.job('a'))?.id, 'a');
    await store.close();
  }));

test('a breaking migration waits for the last instance of the version before, and keeps it out', () =>
  inSchema(async (schema) => {
    const server = await schemas.open(schema);
    // As every server does: a store that was opened and asked nothing has no connection yet.
    server.subscribe(() => undefined);
    await store1(server, changeOf(newJob('a')));
    await assert.rejects(migrateLater(schema, breaking), {
      code: 'STORE_IN_USE',
      message: /\d+ from .*Stop every server on it first/,
    });
    await server.close();
    const store = await schemas.open(schema);
    await store.job('a');
    await cutOff(schema);
    assert.deepEqual(await migrateLater(schema, breaking), [breaking]);
    assert.ok((await refusalOf(store, 'STORE_NEWER')) !== null);
    await store.close();
    await assert.rejects(schemas.open(schema), { code: 'STORE_NEWER' });
  }));

test('S-50 an instance that was cut off does not come back to a store that was moved', () =>
  inSchema(async (schema) => {
    const store = await schemas.open(schema);
    const target = schemas.newName();
    await cutOff(schema);
    const from = await openPostgresChest(`${schemas.url}?schema=${schema}`, systemClock);
    const to = await openPostgresChest(`${schemas.url}?schema=${target}`, systemClock);
    await move({ from, to, id: 'move-1' });
    await Promise.all([from.close(), to.close()]);
    assert.ok((await refusalOf(store, 'STORE_MOVED')) !== null);
    await store.close();
    await schemas.drop(target);
  }));
