import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { type Blueprint, blueprint, finish, type RunningJob } from '../index.ts';
import { ask } from '../testing/ask.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { until } from '../testing/until.ts';
import { chunks, preparedDisk, textOf, zeros } from './fixtures.ts';

/** Runs this once and finishes; what it throws fails the test. */
function running(run: (job: RunningJob) => Promise<void>): {
  readonly blueprints: readonly Blueprint[];
  readonly ended: Promise<void>;
} {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const runs = blueprint({
    name: 'runs',
    version: 1,
    states: {
      single: {
        start: true,
        end: true,
        run: async (job) => {
          await run(job).then(resolve, reject);
          return finish(null);
        },
      },
    },
  });
  return { blueprints: [runs], ended };
}

async function startJob({ url }: ServedEngine): Promise<string> {
  const { json } = await ask(url, 'POST /api/v1/jobs/runs', { body: {} });
  return (json as { job_id: string }).job_id;
}

test('A-57 a run handler writes and reads files of its job; local copies vanish with it', async () => {
  using disk = await preparedDisk({ keep: true });
  let copies = '';
  const { blueprints, ended } = running(async ({ files }) => {
    assert.deepEqual(await files.writeJson('a/b.json', [1]), { path: 'a/b.json', size: 3 });
    assert.deepEqual(await files.readJson('a/b.json'), [1]);
    await files.upload('stream', chunks('one', ' two'));
    assert.equal(readFileSync(await files.download('stream'), 'utf8'), 'one two');
    writeFileSync(files.path('made'), 'by a program');
    await files.upload('made');
    await assert.rejects(files.download('no'), { code: 'FILE_NOT_FOUND' });
    await assert.rejects(files.upload('../x', 'x'), { code: 'FILE_NAME_INVALID' });
    await assert.rejects(files.upload('big', zeros(1_000_001)), { code: 'PAYLOAD_TOO_LARGE' });
    copies = dirname(files.path('made'));
  });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await ended;
  await until(() => readdirSync(disk.at('work')).length === 0);
  assert.equal(existsSync(copies), false);
  const names = (await disk.store.list(id, { after: '', limit: 9 })).map(({ path }) => path);
  assert.deepEqual(names, ['a/b.json', 'made', 'stream']);
  assert.equal(await textOf(await disk.store.get(id, 'made')), 'by a program');
});

test('A-57 a handler waits for its turn where a caller from outside is refused', async () => {
  using disk = await preparedDisk({ keep: true, maxTransfers: 1 });
  await disk.store.put('other', 'f', zeros(10), { maxBytes: 10 });
  const held = await disk.store.get('other', 'f');
  const begun = Promise.withResolvers<void>();
  const { blueprints, ended } = running(async ({ files }) => {
    const stored = files.upload('f', 'x');
    begun.resolve();
    await stored;
  });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await begun.promise;
  const path = `/api/v1/jobs/${id}/files/g`;
  assert.equal((await ask(served.url, `PUT ${path}`, { rawBody: 'x' })).status, 503);
  held.content.destroy();
  await ended;
  assert.equal(existsSync(disk.at('jobs', id, 'f')), true);
});

test('A-57 a handler whose job was cancelled stores nothing any more', async () => {
  using disk = await preparedDisk({ keep: true });
  const begun = Promise.withResolvers<void>();
  const { blueprints, ended } = running(async ({ files, signal }) => {
    await files.upload('before', 'x');
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await assert.rejects(files.upload('after', 'x'), /the job is cancelled/);
    await assert.rejects(files.download('before'), /the job is cancelled/);
  });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await begun.promise;
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  await ended;
  assert.deepEqual(readdirSync(disk.at('jobs', id)), ['before']);
});

test('A-57 an engine without a place for files says so to a handler that asks for them', async () => {
  const { blueprints, ended } = running(async (job) => {
    assert.throws(() => job.files, { code: 'NOT_SUPPORTED' });
  });
  await using served = await serveEngine({ blueprints });
  await startJob(served);
  await ended;
});
