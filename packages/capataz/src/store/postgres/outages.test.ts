/** What happens to the schema, the connections and the server while a store is open. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import { CapatazError } from '../../protocol/errors.ts';
import {
  alsoOf,
  changeOf,
  claimOf,
  commit,
  dispatching,
  newJob,
  read,
  store1,
} from '../../testing/store-suite-kit.ts';
import { until } from '../../testing/until.ts';
import type { Store } from '../contract.ts';
import { Schemas } from './fixtures/schemas.ts';
import { openPostgresStore } from './index.ts';
import { migrate, readMigrations } from './migrate.ts';

const schemas = Schemas.ofThisFile();

async function withStore(body: (store: Store, schema: string) => Promise<void>): Promise<void> {
  const schema = schemas.newName();
  const store = await schemas.open(schema);
  try {
    await body(store, schema);
  } finally {
    await store.close();
    await schemas.drop(schema);
  }
}

/** Connections of the store in this schema, as an operator or a dying server ends them. */
async function endConnections(schema: string): Promise<void> {
  await schemas.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`,
    [`capataz ${schema}`],
  );
}

async function isAnswered(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    assert.ok(error instanceof CapatazError && error.code === 'STORE_UNAVAILABLE', String(error));
    return false;
  }
}

test('a lost connection is replaced, and what was committed is there', () =>
  withStore(async (store, schema) => {
    await store1(store, changeOf(newJob('a')));
    await endConnections(schema);
    // Each connection's next call may meet its death before anybody has heard of it.
    await until(() => isAnswered(store.job('a')));
    await until(() => isAnswered(commit(store, changeOf(newJob('b')))));
    assert.equal((await read(store, 'a')).version, 1);
    assert.equal((await read(store, 'b')).version, 1);
  }));

test('of a commit whose server process died with it, it is known that nothing was stored', () =>
  withStore(async (store, schema) => {
    const client = await schemas.pool.connect();
    try {
      await client.query(`SET search_path = ${schema}`);
      await client.query(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`);
      await client.query(`CREATE CONSTRAINT TRIGGER death AFTER INSERT ON history
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()`);
      await assert.rejects(commit(store, changeOf(newJob('a'))), {
        code: 'STORE_UNAVAILABLE',
        message: /lost during the commit\. Nothing was changed\.$/,
      });
      await client.query('DROP TRIGGER death ON history');
    } finally {
      await client.query('RESET search_path');
      client.release();
    }
    assert.equal(await store.job('a'), null);
    await store1(store, changeOf(newJob('a')));
  }));

test('B-079 work that has nothing to do is taken only where the store could write', () =>
  withStore(async (store, schema) => {
    await store.commit({});
    await schemas.pool.query(`CREATE FUNCTION ${schema}.fill() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$`);
    await schemas.pool.query(`CREATE TRIGGER full_disk BEFORE INSERT ON ${schema}.memos
      EXECUTE FUNCTION ${schema}.fill()`);
    await assert.rejects(store.commit({}), { code: 'STORE_UNAVAILABLE', message: /no room left/ });
    await schemas.pool.query(`DROP TRIGGER full_disk ON ${schema}.memos`);
    await store.commit({});
    const { rows } = await schemas.pool.query(`SELECT FROM ${schema}.memos`);
    assert.equal(rows.length, 0);
  }));

/** A way to the server that can be cut: its processes hear of it only when they answer. */
async function withProxy(body: (url: string, cut: () => void) => Promise<void>): Promise<void> {
  const clients = new Set<Socket>();
  const servers = new Set<Socket>();
  const { hostname, port } = new URL(schemas.url);
  const proxy = createServer((client) => {
    const server = connect(Number(port === '' ? 5432 : port), hostname);
    for (const socket of [client, server]) socket.on('error', () => undefined);
    clients.add(client);
    servers.add(server);
    client.pipe(server, { end: false });
    server.pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = new URL(schemas.url);
  url.port = String((proxy.address() as AddressInfo).port);
  const cut = (): void => {
    for (const client of clients) client.destroy();
    clients.clear();
  };
  try {
    await body(url.href, cut);
  } finally {
    cut();
    for (const server of servers) server.destroy();
    proxy.close();
  }
}

test('a commit whose answer is lost is asked for, and its outcome is known after all', () =>
  withStore((_, schema) =>
    withProxy(async (url, cut) => {
      const place = new URL(url);
      place.searchParams.set('schema', schema);
      const store = await openPostgresStore({ url: place.href });
      try {
        await store1(store, changeOf(newJob('a')));
        await schemas.pool.query(`CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_sleep(1); RETURN NULL; END';
          CREATE CONSTRAINT TRIGGER delay AFTER INSERT ON ${schema}.history
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.wait()`);
        const outcome = commit(store, changeOf(newJob('b')));
        await until(async () => {
          const { rows } = await schemas.pool.query(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query = 'COMMIT' AND wait_event = 'PgSleep'",
            [`capataz ${schema}`],
          );
          return rows.length === 1;
        });
        cut();
        assert.equal((await outcome)[0]?.type, 'done');
        // By a way that was not cut: connections beside it may still be found dead.
        const { rows } = await schemas.pool.query(`SELECT id FROM ${schema}.jobs ORDER BY id`);
        assert.deepEqual(rows, [{ id: 'a' }, { id: 'b' }]);
      } finally {
        await store.close();
      }
    }),
  ));

test('a server that is not there is STORE_UNAVAILABLE', async () => {
  await assert.rejects(openPostgresStore({ url: 'postgres://postgres@127.0.0.1:1/postgres' }), {
    code: 'STORE_UNAVAILABLE',
    message: /can not be reached/,
  });
  await assert.rejects(openPostgresStore({ url: 'mysql://secret@127.0.0.1' }), (error: Error) => {
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  await assert.rejects(openPostgresStore({ url: schemas.urlOf('a"; DROP') }), {
    code: 'CONFIG_INVALID',
    message: /no name of a schema/,
  });
});

test('a closed store refuses, and closing twice is closing once', () =>
  withStore(async (store) => {
    const last = commit(store, changeOf(newJob('a')));
    await Promise.all([store.close(), store.close()]);
    assert.equal((await last)[0]?.type, 'done');
    const refused = { code: 'STORE_UNAVAILABLE', message: /it is closed/ };
    await assert.rejects(commit(store, changeOf(newJob('b'))), refused);
    await assert.rejects(store.job('a'), refused);
  }));

test('what can not be stored fails alone, not those that travel with it', () =>
  withStore(async (store) => {
    const choice = { ...claimOf().choice, cost: 1n as unknown as number };
    const outcomes = await Promise.allSettled([
      commit(store, dispatching('a')),
      store.commit({ claims: [claimOf({ choice })] }),
      commit(store, changeOf(newJob('nul\0'))),
      commit(store, dispatching('c')),
    ]);
    const statuses = outcomes.map(({ status }) => status);
    assert.deepEqual(
      [statuses[0], statuses[2], statuses[3]],
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await store.jobs({ limit: 9 })).length, 2);
  }));

test('released migrations never change: their checksums are kept', () => {
  const kept = JSON.parse(
    readFileSync(new URL('./migrations/checksums.json', import.meta.url), 'utf8'),
  ) as Record<string, string>;
  const found = readMigrations().map(({ name, text }) => [
    name,
    createHash('sha256').update(text).digest('hex'),
  ]);
  assert.deepEqual(Object.fromEntries(found), kept);
});

test('a schema that a newer version broke is refused, one that it only added to is not', () =>
  withStore(async (_, schema) => {
    const client = new pg.Client({ connectionString: schemas.url });
    await client.connect();
    try {
      await client.query(`SET search_path = ${schema}`);
      const later = { number: 9998, name: '9998-more.sql', text: 'SELECT 1', breaking: false };
      await migrate(client, schema, { migrations: [...readMigrations(), later] });
      await (await schemas.open(schema)).close();
      const breaking = { number: 9999, name: '9999-other.sql', text: 'SELECT 1', breaking: true };
      await migrate(client, schema, {
        migrations: [...readMigrations(), later, breaking],
      });
      await assert.rejects(schemas.open(schema), { code: 'STORE_NEWER', message: /9999-other/ });
    } finally {
      await client.end();
    }
  }));

test('H-37 the dead letters have the columns and types of the seed', () =>
  withStore(async (store, schema) => {
    const emits = [{ id: 'e1', number: 1, exchange: 'topic', name: 'done', payload: { of: 'e1' } }];
    await store1(store, changeOf(newJob('a'), { also: alsoOf({ emits }) }));
    await store.settleOutbox([{ type: 'dead', id: 'e1', error: 'nobody took it' }]);
    const { rows } = await schemas.pool.query<{ letter: Record<string, unknown> }>(
      `SELECT to_jsonb(d) AS letter FROM ${schema}.outbox_dlq d`,
    );
    assert.partialDeepStrictEqual(rows[0]?.letter, {
      original_event_id: 'e1',
      aggregate_id: 'a',
      aggregate_type: 'JOB',
      event_type: 'done',
      payload: { of: 'e1' },
      error_message: 'nobody took it',
      retry_count: 1,
    });
    const types = await schemas.pool.query<{ name: string; type: string }>(
      `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
       FROM pg_attribute a WHERE a.attrelid = '${schema}.outbox_dlq'::regclass AND a.attnum > 0`,
    );
    assert.partialDeepStrictEqual(
      Object.fromEntries(types.rows.map(({ name, type }) => [name, type])),
      {
        id: 'uuid',
        aggregate_type: 'character varying(50)',
        event_type: 'character varying(255)',
        payload: 'jsonb',
        metadata: 'jsonb',
        error_message: 'text',
        retry_count: 'integer',
        original_created_at: 'timestamp with time zone',
        moved_at: 'timestamp with time zone',
        resolved_at: 'timestamp with time zone',
        resolved_by: 'character varying(100)',
        resolution_notes: 'text',
      },
    );
  }));
