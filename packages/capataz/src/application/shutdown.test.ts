/** An application that says how long its stop may take. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processContext } from '../cli/context.ts';
import { StartedProgram } from '../cli/fixtures/started-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'capataz-shutdown-'));
const program = fileURLToPath(new URL('./fixtures/patient-server.ts', import.meta.url));
const started: StartedProgram[] = [];
after(() => {
  for (const { child } of started) if (child.exitCode === null) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function working(...args: string[]): Promise<StartedProgram> {
  const dataDir = join(folder, String(started.length));
  const serve = ['serve', '--port', '0', '--data-dir', dataDir, ...args];
  const server = new StartedProgram(program, serve, folder);
  started.push(server);
  await server.says(/working/);
  return server;
}

test('S-65: work under way when an application is stopped ends, whatever further signals come', async () => {
  const server = await working();
  server.child.kill('SIGTERM');
  await server.says(/stopping/, 'stderr');
  server.child.kill('SIGTERM');
  server.child.kill('SIGINT');
  writeFileSync(join(folder, 'done'), '');
  assert.equal(await server.ended(), 0, server.stderr);
  assert.match(server.stdout, /worked/);
  rmSync(join(folder, 'done'));
});

test('S-65: an application that is not stopped within its time ends all the same, with 1', async () => {
  const server = await working('--patience', '200ms');
  assert.equal(await server.stop(), 1, server.stderr);
  assert.doesNotMatch(server.stdout, /worked/);
});

test('L-55: Windows asks a service to stop with SIGBREAK, which is taken as the others are', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const forget = processContext().onStop(resolve);
  // Elsewhere nobody can send it.
  process.emit('SIGBREAK', 'SIGBREAK');
  assert.equal(await promise, 'SIGBREAK');
  forget();
  assert.equal(process.listenerCount('SIGBREAK'), 0);
});
