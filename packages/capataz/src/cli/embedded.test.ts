/** Commands without a server, and with one that is somewhere else. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { registration } from '../engine/fixtures.ts';
import { serveEngine } from '../testing/served-engine.ts';
import { doubleModule, echoModule, folderWith, runIn } from './fixtures/context.ts';

const startDouble = ['jobs', 'start', 'double', '-i', '{"number":1}'];

test('jobs can be looked at and cancelled whatever became of the blueprint modules', async () => {
  const folder = folderWith({ 'blueprints/double.ts': doubleModule });
  const id = (await runIn(folder, startDouble)).stdout.trim();
  writeFileSync(join(folder, 'blueprints/broken.ts'), 'const broken = = 1;');
  const commands = [
    ['jobs', 'list'],
    ['jobs', 'show', id],
    ['jobs', 'history', id],
    ['why', id],
    ['jobs', 'hold', id],
    ['jobs', 'release', id],
    ['jobs', 'cancel', id],
  ];
  for (const args of commands) {
    const { code, stderr } = await runIn(folder, args);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  }
  const watched = await runIn(folder, ['jobs', 'watch', id]);
  assert.equal(watched.code, 1);
  assert.match(watched.stdout, /job \S+ cancelled: .*\n$/);
  const start = await runIn(folder, startDouble);
  assert.equal(start.code, 4);
  assert.match(
    start.stderr,
    /error BLUEPRINT_INVALID:\n {2}.*broken\.ts: Expression expected\n {4}at .*broken\.ts:1: const/,
  );
});

test('a job that is started without a server says when it goes on, and a watch of it ends', async () => {
  const folder = folderWith({ 'blueprints/double.ts': doubleModule });
  const started = await runIn(folder, [...startDouble, '--metadata', '{"by":"test"}']);
  assert.equal(started.code, 0, started.stderr);
  assert.match(
    started.stderr,
    /the job is stored; it goes on when a server runs on this store: `capataz serve --data-dir/,
  );
  const id = started.stdout.trim();
  const watched = await runIn(folder, ['jobs', 'watch', id]);
  assert.equal(watched.code, 3);
  assert.match(watched.stdout, /^\S+ \S+ +job_created/);
  assert.match(watched.stderr, /error UNREACHABLE: job \S+ is waiting_for_worker, and nothing/);
  const shown = await runIn(folder, ['jobs', 'show', id, '--json']);
  assert.deepEqual(JSON.parse(shown.stdout).metadata, { by: 'test' });
});

test('A-44: schedules are seen and paused without a server, and a resume starts nothing without one', async () => {
  const every = 'blueprint = "double"\nevery = "1s"\ncatch_up = "all"\n';
  const folder = folderWith({
    'blueprints/double.ts': doubleModule,
    'schedules.toml': `[a]\n${every}`,
  });
  for (const [args, said] of [
    [['pause', 'a'], /^a is paused\n$/],
    [['list'], /^a +every 1s +UTC +paused by dev$/m],
    [['resume', 'a'], /^a is resumed: next /],
    [['list'], /^a +every 1s +UTC +\d{4}-/m],
  ] as const) {
    const ran = await runIn(folder, ['schedules', ...args]);
    assert.match(ran.stdout, said, ran.stderr);
  }
  assert.deepEqual(JSON.parse((await runIn(folder, ['jobs', 'list', '--json'])).stdout).jobs, []);
});

test('a job that ends by itself is not said to wait for a server', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const { stderr } = await runIn(folder, ['jobs', 'start', 'echo']);
  assert.doesNotMatch(stderr, /is stored/);
});

test('why and show tell of a waiting task who could take it', async () => {
  const folder = folderWith({ 'blueprints/double.ts': doubleModule });
  const id = (await runIn(folder, startDouble)).stdout.trim();
  const why = await runIn(folder, ['why', id]);
  assert.match(why.stdout, /no worker is connected: start one with `capataz worker <module>`\n/);
  const shown = await runIn(folder, ['jobs', 'show', id]);
  assert.match(shown.stdout, /^now +task "double" is queued/m);
  assert.match(shown.stdout, /^entered +\S+ \S+ UTC$/m);
});

test('without a data folder the server at the usual address is meant, as for a worker', async () => {
  const folder = folderWith();
  await using served = await serveEngine({ blueprints: [] });
  const defaultUrl = served.url;
  const list = await runIn(folder, ['jobs', 'list', '--json'], { defaultUrl });
  assert.equal(list.code, 0, list.stderr);
  assert.match(list.stderr, /there is no data folder \S+: talking to http:/);
  const drained = await runIn(folder, ['workers', 'drain', 'nope'], { defaultUrl });
  assert.equal(drained.code, 4);
  assert.match(drained.stderr, /error WORKER_NOT_FOUND: there is no worker "nope"\n/);
  assert.equal(existsSync(join(folder, '.capataz')), false);
});

test('a drain is told, called off with --undo, and refused where it changes nothing', async () => {
  const folder = folderWith();
  await using served = await serveEngine({ blueprints: [] });
  const defaultUrl = served.url;
  await served.engine.workers.register(registration('w1', {}));
  const run = (...words: string[]) => runIn(folder, ['workers', ...words], { defaultUrl });
  assert.equal((await run('drain', 'w1')).stdout, 'worker w1 draining\n');
  assert.match((await run('list')).stdout, /^w1 +DRAINING +closed +0\/1 /m);
  const twice = await run('drain', 'w1');
  assert.equal(twice.code, 4);
  assert.match(
    twice.stderr,
    /INVALID_WORKER_STATE_TRANSITION: worker "w1" is DRAINING .*\n {2}`cap/,
  );
  assert.equal((await run('drain', 'w1', '--undo')).stdout, 'worker w1 takes tasks again\n');
  assert.match((await run('list')).stdout, /^w1 +READY /m);
});

test('a bad variable stops the commands that use it and no others', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const environment = { CAPATAZ_WORKER_HEARTBEAT: 'soon', LOG_LEVEL: 'trace', TZ: 'nowhere' };
  const list = await runIn(folder, ['jobs', 'list'], { environment });
  assert.equal(list.code, 0, list.stderr);
  assert.match(list.stderr, /^warning: environment TZ \(alias\): .*; it is not used\n/);
  assert.doesNotMatch(list.stderr, /LOG_LEVEL/);
  const worker = await runIn(folder, ['worker', 'none.ts'], { environment });
  assert.match(worker.stderr, /error CONFIG_INVALID: environment CAPATAZ_WORKER_HEARTBEAT/);
  const clients = { CAPATAZ_CLIENTS: 'none.toml' };
  const embedded = await runIn(folder, ['jobs', 'list'], { environment: clients });
  assert.equal(embedded.code, 2, 'a server of its own would let in others than it should');
});

test('--help names the choices, and what --url is for', async () => {
  const folder = folderWith();
  const serve = await runIn(folder, ['serve', '--help']);
  assert.match(serve.stdout, /--log-level <debug\|info\|warn\|error>/);
  const list = await runIn(folder, ['jobs', 'list', '--help']);
  assert.match(list.stdout.replaceAll(/\s+/g, ' '), /--url <url> Server to talk to\./);
});
