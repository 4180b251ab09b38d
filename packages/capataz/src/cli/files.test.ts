/** Files of jobs in real processes, one of which is killed. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { createClient } from '../client/index.ts';
import { until } from '../testing/until.ts';
import { doubleModule, removeFolder, temporaryFolder } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const folder = temporaryFolder({
  'blueprints/double.ts': doubleModule,
  'capataz.toml': 'files_max_size = 100000\nfiles_keep = false\n',
});
const processes: CliProcess[] = [];

after(() => {
  for (const { child } of processes) if (child.exitCode === null) child.kill('SIGKILL');
  removeFolder(folder);
});

async function serve(): Promise<{ readonly process: CliProcess; readonly url: string }> {
  const process = new CliProcess(['serve', '--port', '0'], folder);
  processes.push(process);
  return { process, url: await process.says(/^listening on (http:\S+)\n/m) };
}

const files = (...parts: readonly string[]): string => join(folder, '.capataz/files', ...parts);

test('A-58 a killed server leaves nothing half done, and keeps what it had stored', async () => {
  const killed = await serve();
  const client = createClient({ url: killed.url });
  const { jobId } = await client.jobs.start('double', { number: 1 });
  await client.files.upload(jobId, 'a/whole', 'whole');
  const { url: link } = await client.files.link(jobId, 'a/whole');
  const tooLarge = client.files.upload(jobId, 'b', 'x'.repeat(100_001));
  await assert.rejects(tooLarge, { code: 'PAYLOAD_TOO_LARGE' });
  const { port } = new URL(killed.url);
  const path = `/api/v1/jobs/${jobId}/files/half`;
  const half = request({ host: '127.0.0.1', port, method: 'PUT', path });
  half.on('error', () => undefined);
  half.write('half');
  await until(() => readdirSync(files('incoming')).length === 1);
  await killed.process.stop('SIGKILL');
  assert.equal(readdirSync(files('incoming')).length, 1);

  const next = await serve();
  assert.deepEqual(readdirSync(files('incoming')), []);
  const again = createClient({ url: next.url });
  const { content } = await again.files.download(jobId, 'a/whole');
  assert.equal(await text(content), 'whole');
  const names: string[] = [];
  for await (const file of again.files.list(jobId)) names.push(file.path);
  assert.deepEqual(names, ['a/whole']);
  // A link outlives the restart.
  const moved = link.replace(killed.url, next.url);
  assert.equal(await (await fetch(moved)).text(), 'whole');
  await again.jobs.cancel(jobId);
  await until(() => !existsSync(files('jobs', jobId)));
  assert.equal(await next.process.stop(), 0);
});
