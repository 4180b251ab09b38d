/** Jobs under way, moved from one store to another and back between runs of a real server. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createInProcessBus } from 'capataz/bus';
import { createServer } from 'capataz/server';
import { createWorker } from 'capataz/worker';
import { folderWith, type Ran, runIn } from '../cli/fixtures/context.ts';
import type { RunningServer } from '../compose/composition.ts';
import { dispatch, finish, sleep } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { approval, child } from '../core/wait-actions.ts';
import { systemClock } from '../std/clock.ts';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { Inbox } from '../testing/bus-suite-kit.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';

const schemas = Schemas.ofThisFile();
const exchange = 'capataz-test.move';

const done = { end: true, handle: () => finish() } as const;

const count = blueprint({
  name: 'count',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['done'],
      handle: () => dispatch('count', {}, { on: { success: 'done' } }),
    },
    done,
  },
});

const nap = blueprint({
  name: 'nap',
  version: 1,
  states: { lie: { start: true, to: ['done'], handle: () => sleep('3s', 'done') }, done },
});

const person = blueprint({
  name: 'person',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['done'],
      handle: () => approval({ message: 'Go?', on: { approved: 'done' } }),
    },
    done,
  },
});

const parent = blueprint({
  name: 'parent',
  version: 1,
  states: {
    begin: {
      start: true,
      to: ['done'],
      handle: () => child('count', {}, { on: { success: 'done' } }),
    },
    done,
  },
});

const blueprints = [count, nap, person, parent, speakingBlueprint(exchange, 'said')];

function ok({ code, stdout, stderr }: Ran): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

/** One job for each thing that a job can wait for. @returns their ids */
async function startAll(server: RunningServer): Promise<string[]> {
  const { jobs } = server.client();
  const concurrency = { key: 'one', limit: 1, onBusy: 'queue' } as const;
  const started = [
    await jobs.start('count', {}, { concurrency }),
    await jobs.start('count', {}, { concurrency }),
    await jobs.start('nap'),
    await jobs.start('person'),
    await jobs.start('parent'),
    await jobs.start('speaker'),
  ];
  return started.map(({ jobId }) => jobId);
}

test('S-50 what was under way on SQLite ends on PostgreSQL: for a worker, a timer, a person, a child, a key; its events are published', async () => {
  const folder = folderWith();
  const schema = schemas.newName();
  const storeUrl = `${schemas.url}?schema=${schema}`;
  const { log } = listeningLog();
  const config = { port: 0, dataDir: join(folder, 'data') };
  const first = await createServer({ blueprints, log }).start({ config });
  const ids = await startAll(first);
  const dataFlags = ['--data-dir', 'data'];
  const busy = await runIn(folder, ['move', '--to', storeUrl, ...dataFlags]);
  assert.match(busy.stderr, /error STORE_IN_USE: .* is held by process/);
  await first.stop();

  const dry = ok(await runIn(folder, ['move', '--to', storeUrl, ...dataFlags, '--dry-run']));
  assert.match(dry, /open_job +6\n/);
  assert.match(dry, /nothing was changed\n$/);
  const moved = await runIn(folder, ['move', '--to', storeUrl, ...dataFlags]);
  assert.match(ok(moved), /open_job +6 +[0-9a-f]{16}\n/);
  assert.match(moved.stderr, /history: (\d+) of \1 compared\n/);
  await assert.rejects(createServer({ blueprints, log }).start({ config }), {
    code: 'STORE_MOVED',
  });

  const bus = createInProcessBus({ clock: systemClock, log });
  const heard = new Inbox();
  await bus.subscribe({ durable: 'listener', exchange, patterns: ['#'] }, (delivery) => {
    delivery.ack();
    heard.receive(delivery);
  });
  const second = await createServer({ blueprints, log, bus }).start({
    config: { ...config, storeUrl },
  });
  const worker = createWorker({ url: second.url, skills: { count: async () => ({}) } });
  worker.start();
  const client = second.client();
  await client.approvals.approve(ids[3] ?? '');
  for (const id of ids) {
    const { status } = await client.jobs.wait(id, { timeout: '30s' });
    assert.equal(status, 'finished');
  }
  await heard.first(1);
  await worker.stop();
  await second.stop();

  const back = ['move', '--from', storeUrl, '--to', 'home', ...dataFlags, '--json'];
  const answer = JSON.parse(ok(await runIn(folder, back)));
  assert.partialDeepStrictEqual(answer, { dry_run: false, last_step_only: false });
  const list = ok(await runIn(folder, ['jobs', 'list', '--data-dir', 'home', '--json']));
  assert.equal(JSON.parse(list).jobs.length, ids.length + 1);
  await schemas.drop(schema);
});

test('S-50 the files of jobs go from folder to folder, and stay where they are beside a database', async () => {
  const folder = folderWith();
  const { log } = listeningLog();
  const server = await createServer({ blueprints, log }).start({
    config: { port: 0, dataDir: join(folder, 'one') },
  });
  const client = server.client();
  const { jobId } = await client.jobs.start('person');
  const content = 'ä'.repeat(100_000);
  await client.files.upload(jobId, 'deep/er/a.txt', content);
  await server.stop();
  const schema = schemas.newName();
  const storeUrl = `${schemas.url}?schema=${schema}`;
  ok(await runIn(folder, ['move', '--from', 'one', '--to', storeUrl, '--data-dir', 'one']));
  ok(await runIn(folder, ['move', '--from', storeUrl, '--to', 'two', '--data-dir', 'one']));
  const taken = { path: 'three/files/jobs/x/a.txt', text: 'of another' };
  mkdirSync(join(folder, 'three/files/jobs/x'), { recursive: true });
  writeFileSync(join(folder, taken.path), taken.text);
  const refused = await runIn(folder, ['move', '--from', 'two', '--to', 'three']);
  assert.match(refused.stderr, /error STORE_NOT_EMPTY: .*three\/files holds files of jobs/);
  assert.ok(!existsSync(join(folder, 'three/capataz.db')));
  const again = await createServer({ blueprints, log }).start({
    config: { port: 0, dataDir: join(folder, 'two') },
  });
  const found = await again.client().files.download(jobId, 'deep/er/a.txt');
  assert.equal(await new Response(found.content).text(), content);
  await again.stop();
  await schemas.drop(schema);
});

test('S-50 move says what is wrong with the names that it is given', async () => {
  const folder = folderWith();
  const sentences = [
    [['--from', 'data', '--to', 'data'], /USAGE: --from and --to name the same store/],
    [['--from', 'data', '--to', 'mysql://x'], /USAGE: --to names a data folder or a postgres/],
    [['--from', 'data', '--to', 'other'], /CONFIG_INVALID: .*data\/capataz.db holds no store/],
    [['--from', 'data'], /required option '--to <store>' not specified/],
  ] as const;
  for (const [flags, sentence] of sentences) {
    const { code, stderr } = await runIn(folder, ['move', ...flags]);
    assert.equal(code, 2);
    assert.match(stderr, sentence);
  }
});
