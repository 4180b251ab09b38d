import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  doubleModule,
  doubleWorker,
  echoModule,
  removeFolder,
  runIn,
  temporaryFolder,
} from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const folders: string[] = [];
const processes: CliProcess[] = [];

after(async () => {
  for (const { child } of processes) if (child.exitCode === null) child.kill('SIGKILL');
  folders.forEach(removeFolder);
});

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(files);
  folders.push(folder);
  return folder;
}

function start(folder: string, ...args: string[]): CliProcess {
  const started = new CliProcess(args, folder);
  processes.push(started);
  return started;
}

const listening = /^listening on (http:\/\/127\.0\.0\.1:\d+)\n/m;

test('S-52: serve prints one line when it is ready, is found by the data folder (S-67), and stops politely', async () => {
  // Ids of workers are shared by the whole host: a name that no other test's worker has.
  const module = `w${process.pid}.js`;
  const folder = folderWith({ 'flows/double.ts': doubleModule, [module]: doubleWorker });
  const serve = start(
    folder,
    'serve',
    '--port',
    '0',
    '--data-dir',
    'data',
    '--blueprints',
    'flows',
  );
  const url = await serve.says(listening);
  assert.equal((await fetch(`${url}/_public/ready`)).status, 200);
  assert.match(serve.stderr, /open mode: .*, as clients \(clients\.toml\) and workers \(/);
  assert.match(serve.stderr, /holds double v1/);

  const worker = start(folder, 'worker', module, '--data-dir', 'data');
  const first = await worker.says(/^worker (\S+) works for http:\S+: double\n/m);
  const twin = start(folder, 'worker', module, '--data-dir', 'data');
  assert.equal(await twin.says(/^worker (\S+) works/m), `${first}-2`);
  await worker.stop('SIGKILL');
  const again = start(folder, 'worker', module, '--data-dir', 'data');
  assert.equal(await again.says(/^worker (\S+) works/m), first);
  const watched = await runIn(folder, [
    ...['jobs', 'start', 'double', '--input', '{"number":21}', '--watch', '--data-dir', 'data'],
  ]);
  assert.equal(watched.code, 0, watched.stderr);
  assert.doesNotMatch(watched.stderr, /directly/);
  assert.match(watched.stdout, /task_assigned +worker \S+ +attempt 1\n/);
  const doctor = await runIn(folder, ['doctor', '--data-dir', 'data']);
  assert.equal(doctor.stdout, '0 open jobs checked: none is in limbo\n');

  const second = await runIn(folder, ['serve', '--port', '0', '--data-dir', 'data']);
  assert.equal(second.code, 4);
  assert.match(second.stderr, /error STORE_IN_USE: /);

  assert.equal(await twin.stop('SIGINT'), 0, twin.stderr);
  assert.equal(await again.stop('SIGINT'), 0, again.stderr);
  assert.equal(await serve.stop(), 0, serve.stderr);
  assert.match(serve.stdout, /^listening on \S+\n$/);
});

test('with tokens a command needs its own, and a worker that is refused ends with 4', async () => {
  const folder = folderWith({
    'blueprints/echo.ts': echoModule,
    'worker.js': doubleWorker,
    'clients.toml': '[acme]\ntoken = "t1"\n',
    'workers.toml': '[box]\ntoken = "w1"\n',
  });
  const serve = start(folder, 'serve', '--port', '0');
  await serve.says(listening);
  const without = await runIn(folder, ['jobs', 'list']);
  assert.equal(without.code, 4);
  assert.match(without.stderr, /error UNAUTHORIZED: .*\n {2}Give the client's token/);
  const environment = { CAPATAZ_TOKEN: 't1' };
  const started = await runIn(folder, ['jobs', 'start', 'echo'], { environment });
  assert.equal(started.code, 0, started.stderr);
  const refused = await runIn(folder, ['worker', 'worker.js', '--id', 'box', '--token', 'nope']);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /error UNAUTHORIZED: .*\n {2}Give this worker's token with --token/);
  assert.equal(await serve.stop(), 0, serve.stderr);
});

test('dev runs server and workers in one process and starts anew when a module changes', async () => {
  const folder = folderWith({ 'blueprints/double.ts': doubleModule, 'worker.js': doubleWorker });
  const dev = start(folder, 'dev', '--port', '0', '--worker', 'worker.js');
  const url = await dev.says(listening);
  await dev.says(/blueprints +\S+: double v1\n/);
  await dev.says(/access +open: whoever/);
  const args = ['jobs', 'start', 'double', '--input', '{"number":4}', '--watch', '--url', url];
  const first = await runIn(folder, args);
  assert.equal(first.code, 0, first.stderr);

  writeFileSync(join(folder, 'blueprints/broken.ts'), 'export default 1;');
  await dev.says(/broken\.ts changed: starting anew\n/);
  await dev.says(/broken\.ts: its default export.*\n[\s\S]*waiting for a change\n/, 'stderr');
  writeFileSync(join(folder, 'blueprints/broken.ts'), echoModule);
  await dev.says(/blueprints +\S+: echo v1, double v1\n/);
  const second = await runIn(folder, ['jobs', 'start', 'echo', '--watch', '--url', url]);
  assert.equal(second.code, 0, second.stderr);
  assert.equal(await dev.stop('SIGINT'), 0, dev.stderr);
});

test('A-44: dev starts anew when schedules.toml comes or changes, and waits for a bad one to be mended', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const file = join(folder, 'schedules.toml');
  const dev = start(folder, 'dev', '--port', '0');
  const url = await dev.says(listening);
  await dev.says(/access +open: whoever/);
  const listed = async (): Promise<string> => {
    const { stdout } = await runIn(folder, ['schedules', 'list', '--json', '--url', url]);
    const { schedules } = JSON.parse(stdout) as { schedules: { name: string; rule: string }[] };
    return schedules.map(({ name, rule }) => `${name} ${rule}`).join();
  };
  const upAgain = (times: number) => dev.says(new RegExp(`(?:access +open[\\s\\S]*){${times}}`));
  writeFileSync(file, '[a]\nblueprint = "echo"\nevery = "1h"\n');
  await dev.says(/schedules\.toml changed: starting anew\n/);
  await upAgain(2);
  assert.equal(await listed(), 'a every 1h');
  writeFileSync(file, '[a]\nblueprint = "gone"\nevery = "1h"\n');
  await dev.says(/there is no blueprint "gone"\n[\s\S]*waiting for a change\n/, 'stderr');
  writeFileSync(file, '[a]\nblueprint = "echo"\nevery = "x"\n');
  await dev.says(/\[a\] every: .*\n[\s\S]*waiting for a change\n/, 'stderr');
  writeFileSync(file, '[a]\nblueprint = "echo"\nevery = "2h"\n');
  await upAgain(3);
  assert.equal(await listed(), 'a every 2h');
  assert.equal(await dev.stop('SIGINT'), 0, dev.stderr);
});

test('a reader that has seen enough is no failure', async () => {
  const config = start(folderWith({}), 'config');
  config.child.stdout?.destroy();
  assert.equal(await config.ended(), 0, config.stderr);
  assert.equal(config.stderr, '');
});

test('a start with --watch and without a server is the server meanwhile, and says for whom', async () => {
  const folder = folderWith({ 'blueprints/double.ts': doubleModule, 'worker.js': doubleWorker });
  const watch = start(folder, 'jobs', 'start', 'double', '--input', '{"number":2}', '--watch');
  const url = await watch.says(/is a server of \S+ while it watches: .* --url (\S+)`/, 'stderr');
  const worker = start(folder, 'worker', 'worker.js', '--url', url, '--heartbeat', '200ms');
  assert.equal(await watch.ended(), 0, watch.stderr);
  await worker.says(/heartbeat failed, trying again/, 'stderr');
  assert.equal(await worker.stop(), 0, worker.stderr);
});

test('a server without blueprints says so, and dev says when the usual port is taken', async () => {
  const folder = folderWith({});
  const serve = start(folder, 'serve', '--port', '0');
  await serve.says(/holds no blueprint, .* there is no folder/, 'stderr');
  assert.equal(await serve.stop(), 0, serve.stderr);
  const usual = createServer();
  // Another program that has it does just as well.
  await new Promise((taken) =>
    usual.once('error', taken).listen(8080, '127.0.0.1', () => taken(0)),
  );
  const dev = start(folder, 'dev');
  await dev.says(/^port 8080 is taken by another process: using a free one\nlistening on/m);
  assert.equal(await dev.stop(), 0, dev.stderr);
  usual.close();
});
