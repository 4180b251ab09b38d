import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createWorker, type WorkerOptions, type WorkerTask } from 'capataz/worker';
import { preparedDisk, textOf, zeros } from '../files/fixtures.ts';
import { blueprint, dispatch } from '../index.ts';
import { ask } from '../testing/ask.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

/** Ends in quarantine, where files stay, or by its worker's word. */
const blueprints = [
  blueprint({
    name: 'work',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['done'],
        handle: () => dispatch('work', {}, { on: { success: 'done' } }),
      },
      done: { end: true },
    },
  }),
];

async function startJob({ url }: ServedEngine): Promise<string> {
  const { json } = await ask(url, 'POST /api/v1/jobs/work', { body: {} });
  return (json as { job_id: string }).job_id;
}

type Work = (task: WorkerTask) => Promise<void>;

/** Lets a worker do one task. @throws what `work` throws */
async function workOnce(
  { url }: ServedEngine,
  work: Work,
  options: Partial<WorkerOptions> = {},
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const handler = async (task: WorkerTask): Promise<void> => {
    await work(task).then(done.resolve, done.reject);
  };
  const worker = createWorker({ url, id: 'files-test', ...options, skills: { work: handler } });
  try {
    await worker.start();
    await done.promise;
  } finally {
    await worker.stop();
  }
}

function leftovers(id = 'files-test'): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`capataz-files-${id}.`));
}

test('A-57 a task reads, writes and hands on files of its job over HTTP', async () => {
  using disk = await preparedDisk({ keep: true });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await ask(served.url, `PUT /api/v1/jobs/${id}/files/in/a.json`, { rawBody: '{"n":1}' });
  let copies = '';
  await workOnce(served, async ({ files }) => {
    assert.deepEqual(await files.readJson('in/a.json'), { n: 1 });
    assert.deepEqual(await files.writeJson('out/b.json', { n: 2 }), {
      path: 'out/b.json',
      size: 7,
    });
    const path = await files.download('in/a.json');
    assert.equal(path, files.path('in/a.json'));
    assert.equal(readFileSync(path, 'utf8'), '{"n":1}');
    // As another program would leave it.
    writeFileSync(files.path('new/c'), 'local');
    assert.deepEqual(await files.upload('new/c'), { path: 'new/c', size: 5 });
    await files.upload('bytes', Buffer.from('ä'));
    await files.upload('stream', zeros(200_000));
    await files.upload('empty', '');
    await assert.rejects(files.download('no'), { code: 'FILE_NOT_FOUND' });
    assert.equal(existsSync(files.path('no')), false);
    for (const name of ['../x', '/x', 'a\0']) {
      const refused = { code: 'FILE_NAME_INVALID' };
      await assert.rejects(files.upload(name, 'x'), refused);
      await assert.rejects(files.download(name), refused);
      assert.throws(() => files.path(name), refused);
    }
    copies = dirname(dirname(path));
  });
  assert.equal(existsSync(copies), false);
  assert.deepEqual(leftovers(), []);
  const names = (await disk.store.list(id, { after: '', limit: 99 })).map(({ path }) => path);
  assert.deepEqual(names, ['bytes', 'empty', 'in/a.json', 'new/c', 'out/b.json', 'stream']);
  assert.equal(await textOf(await disk.store.get(id, 'out/b.json')), '{"n":2}');
  assert.equal((await textOf(await disk.store.get(id, 'stream'))).length, 200_000);
});

test('A-57 a busy server is asked again, whatever is sent', async () => {
  using disk = await preparedDisk({ keep: true, maxTransfers: 1 });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await disk.store.put(id, 'in', zeros(10), { maxBytes: 10 });
  const held = await disk.store.get(id, 'in');
  const clock = new VirtualClock();
  await workOnce(
    served,
    async ({ files }) => {
      const sent = files.upload('out', zeros(300_000));
      // One pause at least; each lies within 10 s.
      while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve));
      held.content.destroy();
      const settled = sent.then(() => true);
      const turn = (): Promise<boolean> => clock.advance(1_000).then(() => false);
      while (!(await Promise.race([settled, turn()])));
      assert.deepEqual(await sent, { path: 'out', size: 300_000 });
    },
    { clock },
  );
});

test('A-57 a task whose attempt was given up stores nothing more', async () => {
  using disk = await preparedDisk({ keep: true });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await startJob(served);
  await workOnce(served, async ({ files }) => {
    await files.upload('before', 'x');
    await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
    await assert.rejects(files.upload('after', 'x'), { code: 'ATTEMPT_NOT_CURRENT' });
    await assert.rejects(files.download('before'), { code: 'ATTEMPT_NOT_CURRENT' });
  });
  assert.deepEqual(readdirSync(disk.at('jobs', id)), ['before']);
});

test('A-57 what a killed worker left is removed by the next of its id, and nobody else’s', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const left = mkdtempSync(join(tmpdir(), 'capataz-files-files-test.'));
  const others = mkdtempSync(join(tmpdir(), 'capataz-files-files-test-2.'));
  mkdirSync(join(left, 'attempt'));
  await startJob(served);
  await workOnce(served, async ({ files }) => {
    await files.writeJson('x', null);
  });
  assert.equal(existsSync(left), false);
  assert.equal(existsSync(others), true);
  rmSync(others, { recursive: true });
  assert.deepEqual(leftovers(), []);
});
