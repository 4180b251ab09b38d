/** The commands on a PostgreSQL that several servers share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { doubleModule, doubleWorker, echoModule, folderWith, runIn } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const schemas = Schemas.ofThisFile();

interface Place {
  readonly schema: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

async function withPlace(body: (place: Place) => Promise<void>): Promise<void> {
  const schema = schemas.newName();
  const url = new URL(schemas.urlOf(schema));
  url.password = 'secret-word';
  const folder = folderWith({
    'blueprints/echo.ts': echoModule,
    'blueprints/double.ts': doubleModule,
    'double.ts': doubleWorker,
  });
  try {
    await body({ schema, folder, environment: { CAPATAZ_STORE_URL: url.href } });
  } finally {
    await schemas.drop(schema);
  }
}

test('A-60 a command without a server works on the store itself, and tells nobody its password', () =>
  withPlace(async ({ folder, environment }) => {
    const started = await runIn(folder, ['jobs', 'start', 'echo', '-i', '{"a":1}'], {
      environment,
    });
    assert.equal(started.code, 0, started.stderr);
    assert.match(started.stderr, /working on postgres:\/\/127\.0\.0\.1.* directly/);
    const shown = await runIn(folder, ['jobs', 'show', started.stdout.trim(), '--json'], {
      environment,
    });
    assert.partialDeepStrictEqual(JSON.parse(shown.stdout), {
      status: 'finished',
      result: { a: 1 },
    });
    const config = await runIn(folder, ['config'], { environment });
    for (const { stdout, stderr } of [started, shown, config])
      assert.doesNotMatch(stdout + stderr, /secret-word/);
  }));

test('A-60 doctor looks into the store, and repairs it', () =>
  withPlace(async ({ schema, folder, environment }) => {
    const start = ['jobs', 'start', 'double', '-i', '{"number":1}'];
    const id = (await runIn(folder, start, { environment })).stdout.trim();
    await schemas.pool.query(`DELETE FROM ${schema}.tasks WHERE job = $1`, [id]);
    const found = await runIn(folder, ['doctor'], { environment });
    assert.equal(found.code, 1, found.stderr);
    assert.match(found.stdout, new RegExp(`^limbo  job ${id} `));
    const repaired = await runIn(folder, ['doctor', '--repair'], { environment });
    assert.equal(repaired.code, 0, repaired.stderr);
    assert.equal((await runIn(folder, ['doctor'], { environment })).code, 0);
  }));

test('A-60 two instances: two servers, a worker at one and the client at the other', () =>
  withPlace(async ({ folder, environment }) => {
    const started: CliProcess[] = [];
    const start = (args: readonly string[], around = {}): CliProcess => {
      const process = new CliProcess(args, folder, around);
      started.push(process);
      return process;
    };
    try {
      const urls: string[] = [];
      for (const name of ['one', 'two']) {
        const server = start(['serve', '--port', '0', '--data-dir', name], environment);
        urls.push(await server.says(/listening on (\S+)/));
      }
      const [one = '', two = ''] = urls;
      await start(['worker', 'double.ts', '--url', one]).says(/works for (\S+):/);
      const job = ['jobs', 'start', 'double', '-i', '{"number":21}'];
      const watched = await runIn(folder, [...job, '--watch', '--url', two]);
      assert.equal(watched.code, 0, watched.stderr);
      assert.match(watched.stdout, /task_finished +worker \S+ +attempt 1 +success/);
      assert.match(watched.stdout, / finished\n$/);
    } finally {
      for (const process of started.reverse()) await process.stop();
    }
  }));

test('a store_url that is wrong, or a server that is not there, stops the start and says which setting', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  for (const [url, why] of [
    ['mysql://u:secret-word@h/d', /store_url: .*begin with postgres:\/\//],
    ['postgres://u:secret-word@127.0.0.1:1/d', /store_url: .*can not be reached/],
    ['postgres://u@127.0.0.1:1/d?schema=A-b', /store_url: .*no name of a schema/],
    [
      'postgres://u@127.0.0.1:1/d?schema=pg_own',
      /store_url: .*"pg_own", which belongs to the server/,
    ],
    ['postgres://u@127.0.0.1:1/d?schema=user', /store_url: .*"user", which is a word of SQL/],
    ['postgres://u@127.0.0.1:1', /store_url: .*names no database: postgres:/],
    ['postgres://u@127.0.0.1:1/d?options=-c%20x=1', /store_url: .*has "options"/],
  ] as const) {
    const ran = await runIn(folder, ['serve', '--store-url', url]);
    assert.equal(ran.code === 0, false);
    assert.match(ran.stderr, why);
    assert.doesNotMatch(ran.stderr, /secret-word/);
  }
});
