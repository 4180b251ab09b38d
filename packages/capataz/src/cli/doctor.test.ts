import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openWriting } from '../store/sqlite/database.ts';
import { storePaths } from '../store/sqlite/paths.ts';
import { doubleModule, removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const folders: string[] = [];
after(() => folders.forEach(removeFolder));

/** A job that waits for its task, which is no longer there. */
async function damagedFolder(): Promise<{ folder: string; id: string }> {
  const folder = temporaryFolder({ 'blueprints/double.ts': doubleModule });
  folders.push(folder);
  const start = ['jobs', 'start', 'double', '-i', '{"number":1}'];
  const id = (await runIn(folder, start)).stdout.trim();
  await runIn(folder, start);
  const { database: file } = storePaths({ folder: join(folder, '.capataz') });
  const database = openWriting(file, 'full');
  const { changes } = database
    .prepare('DELETE FROM tasks WHERE job = (SELECT n FROM jobs WHERE id = ?)')
    .run(id);
  database.close();
  assert.equal(changes, 1);
  return { folder, id };
}

test('doctor names a job whose task is gone, --repair quarantines it, and then all is well', async () => {
  const { folder, id } = await damagedFolder();
  const found = await runIn(folder, ['doctor']);
  assert.equal(found.code, 1);
  const line = `job ${id} (double, state begin, waiting_for_worker): it waits for task `;
  assert.ok(found.stdout.startsWith(`limbo  ${line}`), found.stdout);
  assert.match(
    found.stdout,
    /which does not exist\n2 open jobs checked: 1 in limbo\n`capataz doctor/,
  );
  assert.equal((await runIn(folder, ['doctor'])).code, 1, 'it changed nothing');
  const repaired = await runIn(folder, ['doctor', '--repair', '--json']);
  assert.equal(repaired.code, 0, repaired.stderr);
  assert.partialDeepStrictEqual(JSON.parse(repaired.stdout), {
    checked: 2,
    findings: [{ job: id, repaired: true }],
  });
  const job = JSON.parse((await runIn(folder, ['jobs', 'show', id, '--json'])).stdout);
  const book = await runIn(folder, ['jobs', 'history', id, '--json']);
  const { history } = JSON.parse(book.stdout);
  assert.partialDeepStrictEqual(job, { status: 'quarantined', error: { code: 'LIMBO' } });
  const types = history.map(({ type }: { type: string }) => type);
  assert.deepEqual(types.slice(-2), ['job_repaired', 'job_quarantined']);
  const clean = await runIn(folder, ['doctor']);
  assert.equal(clean.code, 0);
  assert.match(clean.stdout, /^2 open jobs checked: none is in limbo\n$/);
  const redriven = await runIn(folder, ['jobs', 'redrive', id]);
  assert.match(redriven.stdout, /waiting_for_worker in begin/, redriven.stderr);
  assert.equal((await runIn(folder, ['doctor', '--repair'])).code, 0);
});

test('doctor looks beside a running server, and repairs only without one', async () => {
  const { folder, id } = await damagedFolder();
  const server = new CliProcess(['serve', '--port', '0'], folder);
  await server.says(/listening on (\S+)/);
  const found = await runIn(folder, ['doctor', '--json']);
  assert.equal(found.code, 1, found.stderr);
  assert.partialDeepStrictEqual(JSON.parse(found.stdout), {
    findings: [{ job: id, repaired: false }],
  });
  const refused = await runIn(folder, ['doctor', '--repair']);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /^error STORE_IN_USE: /);
  await server.stop();
});
