import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import type { Log } from '../std/log.ts';
import { silentLog } from '../std/log.ts';
import { systemRandom } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { until } from '../testing/until.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { FileCleaner } from './cleaner.ts';
import type { FilesOptions } from './contract.ts';
import { chunks, type Disk, HeardLog, preparedDisk } from './fixtures.ts';

const instantBlueprint = blueprint({
  name: 'instant',
  version: 1,
  states: { single: { start: true, end: true, handle: () => finish(null) } },
});
const blueprints = [echoBlueprint, instantBlueprint];
const hourMs = 3_600_000;

async function startJob({ url }: Pick<ServedEngine, 'url'>): Promise<string> {
  const { json } = await ask(url, 'POST /api/v1/jobs/echo', { body: {} });
  return (json as { job_id: string }).job_id;
}

async function jobWithFile(served: ServedEngine): Promise<string> {
  const id = await startJob(served);
  const put = await ask(served.url, `PUT /api/v1/jobs/${id}/files/a/f`, { rawBody: 'x' });
  assert.equal(put.status, 200);
  return id;
}

async function takeTask({ url }: ServedEngine): Promise<object> {
  await ask(url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  const { json } = await ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  const { job_id, task_id } = json as { job_id: string; task_id: string };
  return { job_id, task_id };
}

async function report({ url }: ServedEngine, body: object): Promise<void> {
  const headers = { 'X-Worker-ID': 'w1' };
  const answer = await ask(url, 'POST /_worker/tasks/result', { headers, body: { ...body } });
  assert.equal(answer.status, 200);
}

test('A-58 files go when the job has ended: finished, failed and cancelled', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const goesOn = await jobWithFile(served);
  const held = await takeTask(served);
  for (const end of ['finished', 'failed', 'cancelled']) {
    const id = await jobWithFile(served);
    if (end === 'cancelled') await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
    else {
      const task = await takeTask(served);
      const error = { code: 'INVALID_INPUT_ERROR', message: 'no' };
      await report(served, end === 'failed' ? { ...task, error } : task);
    }
    assert.equal((await served.engine.jobs.get(id, null)).status, end);
    await until(() => !existsSync(disk.at('jobs', id)));
  }
  assert.equal(existsSync(disk.at('jobs', goesOn, 'a', 'f')), true);
  await report(served, held);
  await until(() => readdirSync(disk.at('jobs')).length === 0);
  await until(() => readdirSync(disk.at('removed')).length === 0);
});

test('A-58 files go after the commit that ends the job, never before', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await jobWithFile(served);
  const { store } = served;
  const commit = store.commit.bind(store);
  const [asked, let_] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  store.commit = async (work) => {
    asked.resolve();
    await let_.promise;
    return commit(work);
  };
  const cancelling = ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  await asked.promise;
  await served.clock.advance(0);
  assert.equal(existsSync(disk.at('jobs', id, 'a', 'f')), true);
  let_.resolve();
  await cancelling;
  await until(() => !existsSync(disk.at('jobs', id)));
});

test('A-58 a commit that the store refuses removes nothing', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await jobWithFile(served);
  const { store } = served;
  const commit = store.commit.bind(store);
  store.commit = () => Promise.reject(new Error('lost'));
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  store.commit = commit;
  await served.clock.advance(hourMs);
  assert.equal(existsSync(disk.at('jobs', id, 'a', 'f')), true);
});

test('A-58 a quarantined job keeps its files, until it has ended', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await jobWithFile(served);
  const task = await takeTask(served);
  await report(served, { ...task, error: { code: 'PERMANENT_ERROR', message: 'no' } });
  assert.equal((await served.engine.jobs.get(id, null)).status, 'quarantined');
  await served.clock.advance(2 * hourMs);
  const read = await ask(served.url, `GET /api/v1/jobs/${id}/files/a/f`);
  assert.equal(read.text, 'x');
  await ask(served.url, `POST /api/v1/jobs/${id}/redrive`, {});
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  await until(() => !existsSync(disk.at('jobs', id)));
});

test('A-58 with files.keep an ended job keeps its files, and only a job that is gone loses them', async () => {
  using disk = await preparedDisk({ keep: true });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const id = await jobWithFile(served);
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  mkdirSync(disk.at('jobs', 'gone'));
  await served.clock.advance(hourMs);
  await until(() => !existsSync(disk.at('jobs', 'gone')));
  const read = await ask(served.url, `GET /api/v1/jobs/${id}/files/a/f`);
  assert.equal(read.text, 'x');
});

interface Booted {
  readonly engine: Engine;
  readonly clock: VirtualClock;
}

async function boot(store: Store, files: FilesOptions | undefined, log: Log): Promise<Booted> {
  const clock = new VirtualClock();
  const engine = createEngine({
    store,
    blueprints,
    clock,
    random: systemRandom,
    instance: 'test',
    client: (name) => ({ name, plan: null, params: {} }),
    log,
    ...(files === undefined ? {} : { files }),
  });
  await engine.start();
  return { engine, clock };
}

async function create(engine: Engine, name: string): Promise<string> {
  const [created] = await engine.jobs.create([{ blueprint: name, client: 'dev', input: null }]);
  assert.ok(created !== undefined && 'id' in created);
  return created.id;
}

/** As a process leaves it that was killed between the commit and the removal. */
async function leave(disk: Disk, ...jobIds: readonly string[]): Promise<void> {
  for (const id of jobIds) await disk.store.put(id, 'a/f', chunks('x'), { maxBytes: 9 });
}

test('A-58 what a crash left is removed at the start, and every hour', async () => {
  using disk = await preparedDisk();
  const store = createMemoryStore({ clock: new VirtualClock() });
  const first = await boot(store, undefined, silentLog);
  const ended = await create(first.engine, 'instant');
  const open = await create(first.engine, 'echo');
  await leave(disk, ended, open, 'never-was');
  writeFileSync(disk.at('incoming', 'half'), 'x');
  mkdirSync(disk.at('work', 'run', 'files'), { recursive: true });
  await first.engine.stop({ drainMs: 0 });

  const { log, heard } = heardLog();
  const next = await boot(store, disk.options, log);
  await heard('files of jobs that are over were removed');
  assert.deepEqual(readdirSync(disk.at('jobs')), [open]);
  assert.deepEqual(readdirSync(disk.at('incoming')), []);
  assert.equal(existsSync(disk.at('work')), false);

  await leave(disk, ended, 'never-was');
  await next.clock.advance(hourMs - 1);
  assert.equal(readdirSync(disk.at('jobs')).length, 3);
  await next.clock.advance(1);
  await until(() => readdirSync(disk.at('jobs')).length === 1);
  await leave(disk, ended);
  await next.clock.advance(hourMs);
  await until(() => readdirSync(disk.at('jobs')).length === 1);
  assert.equal(existsSync(disk.at('jobs', open, 'a', 'f')), true);
  await next.engine.stop({ drainMs: 0 });
  await store.close();
});

function heardLog(): { readonly log: Log; readonly heard: (message: string) => Promise<void> } {
  const log = new HeardLog();
  return { log: log.log, heard: (message) => log.heard(message) };
}

test('A-58 what could not be removed is left to the next sweep', async () => {
  using disk = await preparedDisk();
  const { log, heard } = heardLog();
  await using served = await serveEngine({ blueprints, files: disk.options, log });
  const id = await jobWithFile(served);
  const remove = disk.store.remove.bind(disk.store);
  disk.store.remove = () => Promise.reject(new Error('the disk is away'));
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { body: {} });
  await heard('files of a job could not be removed; the next sweep tries again');
  assert.equal(existsSync(disk.at('jobs', id)), true);
  disk.store.remove = remove;
  await served.clock.advance(hourMs);
  await until(() => !existsSync(disk.at('jobs', id)));
});

test('A-58 a sweep is bounded: what it does not reach, the next one does', async () => {
  const jobs = Array.from({ length: 15_000 }, (_, at) => `job-${String(at).padStart(5, '0')}`);
  let pages = 0;
  const removed = new Set<string>();
  const store = {
    prepare: () => Promise.resolve(),
    remove: (id: string) => Promise.resolve(void removed.add(id)),
    jobs: ({ after, limit }: { after: string; limit: number }) => {
      pages += 1;
      return Promise.resolve(jobs.filter((id) => id > after).slice(0, limit));
    },
  };
  const clock = new VirtualClock();
  const cleaner = new FileCleaner({
    // The rest of the place is not asked for.
    files: {
      store,
      maxBytes: 1,
      keep: false,
      workFolder: '/nonexistent',
    } as unknown as FilesOptions,
    about: (job) => Promise.resolve({ job }),
    mayRemove: (id) => Promise.resolve(id.endsWith('7')),
    clock,
    log: silentLog,
  });
  await cleaner.start();
  await until(() => clock.pending === 1);
  assert.deepEqual([pages, removed.size], [20, 1_000]);
  await clock.advance(hourMs);
  await until(() => clock.pending === 1);
  assert.equal(removed.size, 1_500);
  await cleaner.stop();
  assert.equal(clock.pending, 0);
});
