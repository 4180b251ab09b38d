import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../std/clock.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import { echoModule, folderWith, runIn } from './fixtures/context.ts';

test('S-67: without a server a command embeds one on the data folder, and leaves it free', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const started = await runIn(folder, ['jobs', 'start', 'echo', '--input', '{"a":1}']);
  assert.equal(started.code, 0, started.stderr);
  assert.match(started.stderr, /working on it directly/);
  const id = started.stdout.trim();
  const shown = await runIn(folder, ['jobs', 'show', id, '--json']);
  const job: { status: string; result: unknown } = JSON.parse(shown.stdout);
  assert.deepEqual([job.status, job.result], ['finished', { a: 1 }]);
  const store = await openSqliteStore({ folder: join(folder, '.capataz'), clock: systemClock });
  await store.close();
});

test('S-67: in a folder without anything of ours a command leaves nothing behind', async () => {
  const folder = folderWith();
  const { code, stderr } = await runIn(folder, ['jobs', 'list']);
  assert.equal(code, 3);
  assert.match(
    stderr,
    /^error UNREACHABLE: no server answers at http:\S+, .*\n {2}Start a server with .*--url\.\n$/,
  );
  assert.equal(existsSync(join(folder, '.capataz')), false);
});

test('the exit code tells how a watched job ended', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule, 'input.json': '{"fail":true}' });
  const good = await runIn(folder, ['jobs', 'start', 'echo', '--watch']);
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /job_created .*only\n/);
  assert.match(good.stdout, /finished\n$/);
  const bad = await runIn(folder, ['jobs', 'start', 'echo', '-i', '@input.json', '-w', '--json']);
  assert.equal(bad.code, 1, bad.stderr);
  const lines: { job_id?: string; type?: string }[] = bad.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.at(-1)?.type, 'job_failed');
  const watched = await runIn(folder, ['jobs', 'watch', lines[0]?.job_id ?? '']);
  assert.equal(watched.code, 1);
  assert.match(watched.stdout, /failed: \w+ as the input said\n$/);
});

test('a job is started once under an idempotency key, with input from standard input', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const args = ['jobs', 'start', 'echo', '--input', '-', '--key', 'k1', '--priority', '5'];
  const first = await runIn(folder, args, { stdin: '[1,2]' });
  const second = await runIn(folder, args, { stdin: '[1,2]' });
  assert.equal(first.code, 0, first.stderr);
  assert.equal(second.stdout, first.stdout);
  const other = await runIn(folder, args, { stdin: '[3]' });
  assert.equal(other.code, 4);
  assert.match(other.stderr, /error IDEMPOTENCY_CONFLICT: /);
});

test('listings, history and why, for people and as JSON', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const id = (await runIn(folder, ['jobs', 'start', 'echo'])).stdout.trim();
  const list = await runIn(folder, ['jobs', 'list', '--status', 'finished']);
  assert.match(list.stdout, new RegExp(`^ID .*\\n${id} +echo +only +finished +20`));
  const page: { jobs: { id: string }[] } = JSON.parse(
    (await runIn(folder, ['jobs', 'list', '--json'])).stdout,
  );
  assert.deepEqual(
    page.jobs.map((job) => job.id),
    [id],
  );
  const history = await runIn(folder, ['jobs', 'history', id, '--json']);
  const book: { history: { type: string; seq: number }[] } = JSON.parse(history.stdout);
  assert.equal(book.history[0]?.type, 'job_created');
  const why = await runIn(folder, ['why', id]);
  assert.equal(why.code, 0, why.stderr);
  assert.notEqual(why.stdout.trim(), '');
  const workers = await runIn(folder, ['workers', 'list', '--json']);
  assert.deepEqual(JSON.parse(workers.stdout), { workers: [] });
});

test('refusals have their code, a next step and exit code 4', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const id = (await runIn(folder, ['jobs', 'start', 'echo'])).stdout.trim();
  const cancelled = await runIn(folder, ['jobs', 'cancel', id, '--reason', 'late']);
  assert.equal(cancelled.code, 4);
  assert.match(cancelled.stderr, /^error ALREADY_FINAL: /m);
  const missing = await runIn(folder, ['jobs', 'hold', '0199a000-0000-7000-8000-000000000000']);
  assert.equal(missing.code, 4);
  assert.match(missing.stderr, /error JOB_NOT_FOUND: .*\n {2}`capataz jobs list`/);
  const unknown = await runIn(folder, ['jobs', 'start', 'nothing']);
  assert.equal(unknown.code, 4);
  assert.match(unknown.stderr, /error BLUEPRINT_NOT_FOUND: .*nothing/);
});

test('wrong usage ends with 2 and says what is wrong', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['nonsense'], /error USAGE: unknown command 'nonsense'/],
    [['jobs', 'start'], /error USAGE: missing required argument 'blueprint'/],
    [['jobs', 'list', '--wat'], /error USAGE: unknown option '--wat'/],
    [['jobs', 'list', '--limit', '0'], /error USAGE: --limit must be/],
    [['jobs', 'start', 'echo', '--input', '{'], /error USAGE: --input is not JSON: .*JSON/],
    [['jobs', 'list', '--before', 'x'], /error USAGE: --before must be the id of a job, not "x"/],
    [
      ['jobs', 'start', 'echo', '--metadata', '[]'],
      /error USAGE: --metadata must be a JSON object/,
    ],
    [['blueprints', 'graph', 'none.ts'], /error USAGE: there is no file none\.ts\n$/],
    [['blueprints', 'graph', 'flows/none'], /error USAGE: there is no file flows\/none\n$/],
    [['jobs', 'start', 'echo', '--delay', '10'], /error USAGE: --delay must be a duration/],
    [['jobs', 'start', 'echo', '--input', '@none'], /cannot be read \(ENOENT\)/],
    [['serve', '--port', 'x'], /error CONFIG_INVALID: flag --port: must be a whole number/],
    [['serve', '--drain', '10'], /flag --drain: must be a duration/],
    [['worker', 'none.ts'], /error CONFIG_INVALID: there is no file none\.ts\n$/],
  ];
  for (const [args, expected] of cases) {
    const { code, stderr } = await runIn(folder, args);
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, expected);
  }
});

test('a server that is not there ends with 3', async () => {
  const folder = folderWith();
  const { code, stderr } = await runIn(folder, ['jobs', 'list', '--url', 'http://127.0.0.1:1']);
  assert.equal(code, 3);
  assert.match(stderr, /^error UNREACHABLE: http:\/\/127\.0\.0\.1:1 /);
});

test('S-52: a host that is not loopback is refused in open mode', async () => {
  const folder = folderWith({
    'clients.toml': '[acme]\ntoken = "t"\n',
  });
  const open = await runIn(folder, ['serve', '--host', '0.0.0.0', '--port', '0']);
  assert.equal(open.code, 2);
  assert.match(open.stderr, /host 0\.0\.0\.0 is not loopback.*give tokens to workers/);
});

test('A-6: a start with a bad blueprint module stops and names it', async () => {
  const folder = folderWith({ 'flows/bad.ts': 'export const a = 1;', 'flows/good.ts': echoModule });
  const { code, stderr } = await runIn(folder, ['serve', '--port', '0', '--blueprints', 'flows']);
  assert.equal(code, 4);
  assert.match(stderr, /error BLUEPRINT_INVALID: .*flows\/bad\.ts: has no default export/);
});

test('A-54: a start with a wrong entry stops and names file, entry and field', async () => {
  const folder = folderWith({ 'workers.toml': '[w1]\ntoken = 5\n' });
  const { code, stderr } = await runIn(folder, ['serve', '--port', '0']);
  assert.equal(code, 2);
  assert.match(stderr, /workers\.toml: \[w1\] token: must be a string/);
});

test('S-51: config shows each value with its source, aliases as such, and masks secrets', async () => {
  const folder = folderWith({ 'capataz.toml': 'host = "::1"\n' });
  const environment = { API_PORT: '9999', GLOBAL_WORKER_TOKEN: 'hush', CAPATAZ_OTHER_THING: 'x' };
  const text = await runIn(folder, ['config', '--drain', '3s'], { environment });
  assert.equal(text.code, 0, text.stderr);
  assert.match(text.stdout, /^port +9999 +environment API_PORT \(alias\)$/m);
  assert.match(text.stdout, /^host +::1 +.*capataz\.toml: host$/m);
  assert.match(text.stdout, /^drain +3s +flag --drain$/m);
  assert.match(text.stdout, /^common_worker_token +\*+ +environment GLOBAL_WORKER_TOKEN/m);
  assert.match(text.stdout, /CAPATAZ_OTHER_THING is no setting/);
  assert.doesNotMatch(text.stdout, /hush/);
  const json = await runIn(folder, ['config', '--json'], { environment });
  const { settings }: { settings: { key: string; source: string }[] } = JSON.parse(json.stdout);
  assert.equal(settings.find(({ key }) => key === 'data_dir')?.source, 'default');
});

test('blueprints are checked and drawn from their files', async () => {
  const folder = folderWith({ 'echo.ts': echoModule, 'bad.ts': 'export default 1;' });
  const checked = await runIn(folder, ['blueprints', 'check', 'echo.ts', 'bad.ts']);
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /^ok {3}echo\.ts: echo version 1\nbad {2}.*bad\.ts: its default/);
  const dot = await runIn(folder, ['blueprints', 'graph', 'echo.ts']);
  assert.match(dot.stdout, /^digraph "echo v1"/);
  const json = await runIn(folder, ['blueprints', 'graph', 'echo.ts', '--json']);
  assert.deepEqual(JSON.parse(json.stdout), { format: 'dot', graph: dot.stdout });
  const whole = await runIn(folder, ['blueprints', 'check', '.']);
  assert.match(whole.stdout, /^bad {2}.*bad\.ts: its default.*\nok {3}echo\.ts: echo version 1\n$/);
  const svg = await runIn(folder, ['blueprints', 'graph', 'echo.ts', '--format', 'svg']);
  assert.match(svg.stdout, /<svg /);
  const wrong = await runIn(folder, ['blueprints', 'graph', 'echo.ts', '--format', 'png']);
  assert.equal(wrong.code, 2);
});

test('a blueprint is drawn by its name as the server has it', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  const drawn = await runIn(folder, ['blueprints', 'graph', 'echo', '--format', 'mermaid']);
  assert.match(drawn.stdout, /^stateDiagram-v2/);
});

test('doctor looks at every open job of the data folder', async () => {
  const folder = folderWith({ 'blueprints/echo.ts': echoModule });
  assert.equal((await runIn(folder, ['doctor'])).code, 2);
  await runIn(folder, ['jobs', 'start', 'echo', '--delay', '1h']);
  const { code, stdout } = await runIn(folder, ['doctor', '--json']);
  const { checked, findings }: { checked: number; findings: unknown[] } = JSON.parse(stdout);
  assert.deepEqual([code, checked, findings], [0, 1, []]);
});

test('S-57: the entry point exports what blueprint modules need', async () => {
  const exported = Object.keys(await import('capataz'));
  for (const name of ['blueprint', 'transition', 'dispatch', 'sleep', 'retry', 'finish', 'fail']) {
    assert.ok(exported.includes(name), name);
  }
});
