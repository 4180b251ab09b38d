import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Blueprint } from 'capataz';
import { loadBlueprints } from '../../packages/capataz/src/config/blueprint-modules.ts';
import { startWorld } from '../../packages/capataz/src/engine/fixtures.ts';
import type { JsonValue } from '../../packages/capataz/src/std/json.ts';

const hour = 3_600_000;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** A reader's project: the modules of the guide, beside the packages of this checkout. */
const folder = mkdtempSync(join(tmpdir(), 'capataz-guide-'));
after(() => rmSync(folder, { recursive: true, force: true }));
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
mkdirSync(join(folder, 'blueprints'));

const names: string[] = [];
const guide = readFileSync(join(root, 'docs/blueprints.md'), 'utf8');
for (const [, block = ''] of guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
  const path = /^\/\/ ((?:blueprints\/)?([a-z-]+)\.ts)\n/.exec(block);
  if (path === null) continue;
  writeFileSync(join(folder, path[1] ?? ''), block);
  if (path[1]?.startsWith('blueprints/')) names.push(path[2] ?? '');
}
const blueprints: readonly Blueprint[] = await loadBlueprints(join(folder, 'blueprints'));

test('every blueprint of the guide loads and is named like its file', () => {
  assert.ok(names.length >= 10, `only ${names.length} were found`);
  assert.deepEqual(blueprints.map(({ name }) => name).sort(), names.sort());
});

test('the modules of the guide pass the compiler', () => {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.base.json'),
      compilerOptions: { noEmit: true, typeRoots: [join(root, 'node_modules/@types')] },
      include: ['worker.ts', 'blueprints/*.ts'],
    }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

/** The guide's blueprints in a running engine, with a worker that has every skill of them. */
async function begin(name: string, input: JsonValue = {}) {
  const world = await startWorld({ blueprints });
  const skills = ['translate', 'charge', 'inspect', 'remind', 'print'];
  const worker = await world.worker('w', { slots: 10, batch: true, offer: { skills } });
  const id = await world.create(name, { input });
  const shown = async () => {
    await world.settle();
    const { status, state } = await world.job(id);
    return `${status} ${state}`;
  };
  let sent = 0;
  const signal = async (signalName: string, to: { jobId: string } | { key: string }) => {
    sent += 1;
    const one = {
      client: 'client-1',
      to,
      name: signalName,
      id: `s${sent}`,
      data: 'x',
      actor: 'bot',
    };
    const [answer] = await world.engine.signals.send([one]);
    return answer?.type;
  };
  return { world, worker, id, shown, signal };
}

test('a task: its data is merged, an unknown status fails the job', async () => {
  const good = await begin('translate', { text: 'a' });
  await good.worker.report(await good.worker.takeOne(), { data: { text: 'A' } });
  assert.deepEqual((await good.world.job(good.id)).result, { text: 'A' });
  const odd = await begin('translate', { text: 'a' });
  await odd.worker.report(await odd.worker.takeOne(), { status: 'odd' });
  assert.equal((await odd.world.job(odd.id)).error?.code, 'UNKNOWN_STATUS');
});

test('retries: `then` asks a person, PermanentError parks, InvalidInputError fails', async () => {
  const { world, worker, shown } = await begin('charge');
  for (let run = 0; run < 6; run += 1) {
    await worker.fail(await worker.takeOne());
    await world.advance(70_000);
    await worker.beat();
  }
  assert.equal(await shown(), 'waiting_for_human ask');
  for (const [code, end] of [
    ['PERMANENT_ERROR', 'quarantined charge'],
    ['INVALID_INPUT_ERROR', 'failed charge'],
  ] as const) {
    const other = await begin('charge');
    await other.worker.fail(await other.worker.takeOne(), code);
    assert.equal(await other.shown(), end);
  }
});

test('a fan-out: unmapped is collected, mapped fails fast, none runs the aggregator', async () => {
  const some = await begin('inspect', { parts: ['a', 'b'] });
  const [first, second] = await some.worker.take(10);
  assert.ok(first !== undefined && second !== undefined);
  await some.worker.report(first, { status: 'odd' });
  await some.worker.report(second);
  assert.equal(await some.shown(), 'finished merge');
  assert.deepEqual((await some.world.job(some.id)).result, { good: 1, all: 2 });
  const stopped = await begin('inspect', { parts: ['a', 'b'] });
  const [danger] = await stopped.worker.take(10);
  assert.ok(danger !== undefined);
  await stopped.worker.report(danger, { status: 'danger' });
  assert.equal(await stopped.shown(), 'failed stopped');
  assert.equal(await (await begin('inspect', { parts: [] })).shown(), 'finished merge');
});

test('a fan-out: `fanOut` makes the check find a missing aggregator', async () => {
  const source = readFileSync(join(folder, 'blueprints/inspect.ts'), 'utf8');
  mkdirSync(join(folder, 'bad'));
  writeFileSync(join(folder, 'bad/inspect.ts'), source.replace('aggregate: true,', ''));
  await assert.rejects(loadBlueprints(join(folder, 'bad')), /none of its targets has aggregate/);
});

test('a person: who is silent is passed over, then the deadline decides', async () => {
  const { world, shown } = await begin('publish', { text: 'x' });
  await world.advance(hour + 1_000);
  assert.equal(await shown(), 'waiting_for_human chief');
  await world.advance(8 * hour + 1_000);
  assert.equal(await shown(), 'failed withdrawn');
});

test('a child: its end leads on', async () => {
  const { worker, shown } = await begin('order');
  await worker.report(await worker.takeOne());
  assert.equal(await shown(), 'finished done');
});

test('signals: early, rows, sub-state, key, silence', async () => {
  const { world, id, shown, signal } = await begin('parcel', { parcel: '7' });
  assert.equal(await signal('delivered', { jobId: id }), 'refused');
  assert.equal(await signal('scanned', { key: 'parcel:7' }), 'taken');
  await world.advance(hour + 1_000);
  assert.equal((await world.job(id)).data.place, 'x');
  await world.advance(2 * hour + 1_000);
  assert.equal(await shown(), 'waiting_for_event asking');
  assert.equal(await signal('answered', { jobId: id }), 'taken');
  assert.equal(await shown(), 'waiting_for_event travels');
  assert.equal(await signal('nonsense', { jobId: id }), 'refused');
  assert.equal(await signal('delivered', { key: 'parcel:7' }), 'taken');
  assert.deepEqual((await world.job(id)).result, { place: 'x' });
});

test('signals: a row decides, and silence ends the wait', async () => {
  const { world, id, shown, signal } = await begin('parcel', { parcel: '8' });
  const silent = await world.create('parcel', { input: { parcel: '9' } });
  await world.advance(hour + 1_000);
  await signal('refused', { jobId: id });
  assert.equal(await shown(), 'finished returned');
  await world.advance(6 * hour + 1_000);
  const { status, state } = await world.job(silent);
  assert.deepEqual([status, state], ['failed', 'lost']);
});

test('time: a row ends a sleep', async () => {
  const { id, shown, signal } = await begin('reminder');
  assert.equal(await shown(), 'waiting_for_timer wait');
  assert.equal(await signal('paid', { jobId: id }), 'taken');
  assert.equal(await shown(), 'finished done');
});

test('run: steps give what they gave', async () => {
  const { world, id, shown } = await begin('import');
  await world.advance(1_000);
  assert.equal(await shown(), 'finished import');
  assert.deepEqual((await world.job(id)).result, { sum: 12 });
});

test('shares: a budget, a printer, a limit of open jobs', async () => {
  const { world, worker, shown } = await begin('print', { customer: 'a', pages: 600 });
  const full = await world.create('print', { input: { customer: 'b', pages: 600 } });
  await world.settle();
  assert.equal((await world.job(full)).state, 'tomorrow');
  const second = await world.create('print', { input: { customer: 'a', pages: 1 } });
  const third = await world.create('print', { input: { customer: 'a', pages: 1 } });
  assert.equal((await world.job(second)).status, 'waiting_for_timer');
  assert.equal((await world.job(third)).status, 'pending');
  await worker.report(await worker.takeOne());
  assert.equal(await shown(), 'finished done');
  assert.equal((await world.job(second)).status, 'waiting_for_worker');
});

test('guards: the first that holds', async () => {
  assert.equal(await (await begin('triage', { amount: 5 })).shown(), 'finished fast');
  assert.equal(await (await begin('triage', { amount: 500 })).shown(), 'failed slow');
});
