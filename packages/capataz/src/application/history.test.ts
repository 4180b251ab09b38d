/** What the book of a job says, on the stores of a real server. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from 'capataz/server';
import { createWorker } from 'capataz/worker';
import { folderWith, runIn } from '../cli/fixtures/context.ts';
import { dispatch, finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { listeningLog } from '../testing/listening-log.ts';

const schemas = Schemas.ofThisFile();

const count = blueprint({
  name: 'count',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['done'],
      handle: () => dispatch('count', {}, { on: { success: 'done' } }),
    },
    done: { end: true, handle: () => finish() },
  },
});

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`A-45 A-71 on ${kind} the history has every event of a job with time, state, duration, worker and attempt, in UTC, and is shown in TZ`, async () => {
    const folder = folderWith();
    const schema = schemas.newName();
    const storeUrl = kind === 'SQLite' ? null : `${schemas.url}?schema=${schema}`;
    const config = { port: 0, dataDir: join(folder, 'data'), storeUrl };
    const { log } = listeningLog();
    await using closing = new AsyncDisposableStack();
    const server = await createServer({ blueprints: [count], log }).start({ config });
    closing.defer(() => schemas.drop(schema));
    closing.defer(() => server.stop());
    const worker = createWorker({
      url: server.url,
      id: 'w1',
      skills: { count: async () => ({}) },
    });
    const { jobs } = server.client();
    const { jobId } = await jobs.start('count');
    worker.start();
    await jobs.wait(jobId, { timeout: '30s' });
    await worker.stop();
    const entries = [];
    for await (const entry of jobs.history(jobId)) entries.push(entry);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      entries.map((_, index) => index + 1),
    );
    const types = entries.map(({ type }) => type);
    for (const type of ['job_created', 'state_entered', 'task_dispatched', 'task_assigned'])
      assert.ok(types.includes(type), `${type} among ${types}`);
    for (const { at } of entries) assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const assigned = entries.find(({ type }) => type === 'task_assigned');
    const finished = entries.find(({ type }) => type === 'task_finished');
    assert.partialDeepStrictEqual(assigned, { worker: 'w1', number: 1 });
    assert.partialDeepStrictEqual(finished, { worker: 'w1', attempt: assigned?.['attempt'] });

    const environment = { TZ: 'Asia/Kolkata', CAPATAZ_URL: server.url };
    const shown = (await runIn(folder, ['jobs', 'history', jobId], { environment })).stdout;
    const [first = ''] = entries.map(({ at }) => at);
    const there = new Date(Date.parse(first) + 5.5 * 3_600_000).toISOString();
    assert.ok(shown.startsWith(there.slice(0, 19).replace('T', ' ')), shown);
    assert.match(shown, /state_entered +ask → done {2}took \d/);
    assert.match(shown, /task_finished +worker w1 {2}attempt 1 {2}success {2}took \d/);
    assert.match(shown, /job_finished +done {2}took \d/);
  });
}

test('A-73 history can be switched off: a job can be followed to its end, and its book goes with it', async () => {
  const folder = folderWith();
  const { log } = listeningLog();
  const config = { port: 0, dataDir: join(folder, 'data'), history: 'off' } as const;
  const server = createServer({ blueprints: [count], log });
  const refusal = { code: 'CONFIG_INVALID', message: /history: off is not there with store_url/ };
  await assert.rejects(server.start({ config: { ...config, storeUrl: schemas.url } }), refusal);
  await using closing = new AsyncDisposableStack();
  const running = await server.start({ config });
  closing.defer(() => running.stop());
  const { jobs } = running.client();
  const { jobId } = await jobs.start('count');
  const entries = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { type } of jobs.history(jobId)) found.push(type);
    return found;
  };
  assert.ok((await entries()).includes('task_dispatched'));
  const ended = jobs.wait(jobId, { timeout: '30s' });
  const worker = createWorker({ url: running.url, skills: { count: async () => ({}) } });
  worker.start();
  assert.equal((await ended).status, 'finished');
  await worker.stop();
  assert.deepEqual(await entries(), []);
});
