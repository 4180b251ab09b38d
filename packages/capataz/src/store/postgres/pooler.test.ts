/** Behind a pooler that lends connections for one transaction. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { poolerService } from '../../testing/pooler-service.ts';
import { postgresService } from '../../testing/postgres-service.ts';
import type { TestService } from '../../testing/services.ts';
import { storeSuite } from '../../testing/store-suite.ts';
import { changeOf, commit, newJob, read } from '../../testing/store-suite-kit.ts';
import { until } from '../../testing/until.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import type { News, Store } from '../contract.ts';
import { Schemas } from './fixtures/schemas.ts';
import { openPostgresStore } from './index.ts';

const schemas = Schemas.ofThisFile();
let server: TestService;
let pooler: TestService;
before(async () => {
  server = await postgresService();
  pooler = await poolerService(server);
});
after(async () => {
  await pooler.close();
  await server.close();
});

function open(schema: string, clock?: VirtualClock): Promise<Store> {
  const url = new URL(pooler.url);
  url.searchParams.set('schema', schema);
  const directUrl = schemas.urlOf(schema);
  const given = clock === undefined ? {} : { clock };
  return openPostgresStore({ url: url.href, directUrl, connections: 2, ...given });
}

storeSuite('postgres behind a transaction pooler', async () => {
  const clock = new VirtualClock();
  const schema = schemas.newName();
  let store = await open(schema, clock);
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      store = await open(schema, clock);
      return store;
    },
    close: async () => {
      await store.close();
      await schemas.drop(schema);
    },
  };
});

test('A-60 two instances behind a transaction pooler hear of each other past it', async () => {
  const schema = schemas.newName();
  const [one, two] = [await open(schema), await open(schema)];
  const news: News[] = [];
  two.subscribe((heard) => news.push(heard));
  await until(() => news.length > 0);
  await commit(one, changeOf(newJob('a')));
  await until(() => news.some(({ type }) => type === 'commit'));
  assert.equal((await read(two, 'a')).id, 'a');
  await Promise.all([one.close(), two.close()]);
  await schemas.drop(schema);
});

test('S-50 a store that was moved is left alone by whoever comes through a pooler', async () => {
  const schema = schemas.newName();
  const store = await open(schema);
  await commit(store, changeOf(newJob('a')));
  await schemas.pool.query(`INSERT INTO ${schema}.moves VALUES ('moved', 'm', 'elsewhere')`);
  const refused = { code: 'STORE_UNAVAILABLE', message: /moved to another place/ };
  await assert.rejects(store.job('a'), refused);
  await assert.rejects(commit(store, changeOf(newJob('b'))), refused);
  await assert.rejects(open(schema), { code: 'STORE_MOVED' });
  await store.close();
  const { rowCount } = await schemas.pool.query(`SELECT FROM ${schema}.jobs`);
  assert.equal(rowCount, 1);
  await schemas.drop(schema);
});

test('two URLs that name two schemas are refused', async () => {
  const url = new URL(pooler.url);
  url.searchParams.set('schema', 'one');
  await assert.rejects(openPostgresStore({ url: url.href, directUrl: schemas.urlOf('two') }), {
    code: 'CONFIG_INVALID',
    message: /the same schema/,
  });
});

test('two URLs that lead to two databases are refused', async () => {
  const schema = schemas.newName();
  const database = schemas.newName();
  await schemas.pool.query(`CREATE DATABASE ${database}`);
  try {
    const directUrl = new URL(schemas.urlOf(schema));
    directUrl.pathname = `/${database}`;
    const url = new URL(pooler.url);
    url.searchParams.set('schema', schema);
    await (await openPostgresStore({ url: url.href, directUrl: schemas.urlOf(schema) })).close();
    const elsewhere = { url: url.href, directUrl: directUrl.href };
    await assert.rejects(openPostgresStore(elsewhere), {
      code: 'CONFIG_INVALID',
      message: /the same database/,
    });
  } finally {
    await schemas.pool.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await schemas.drop(schema);
  }
});

test('a URL through a pooler with none past it is refused, and the setting is named', async () => {
  const url = new URL(pooler.url);
  url.searchParams.set('schema', 'some_schema');
  await assert.rejects(openPostgresStore({ url: url.href }), {
    code: 'CONFIG_INVALID',
    message: /through a pooler.*store_direct_url/,
  });
});
