/** What the book of a job says, on the stores of a real server. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type RunningServer } from 'capataz/server';
import { createWorker } from 'capataz/worker';
import { folderWith, runIn } from '../cli/fixtures/context.ts';
import type { Config } from '../config/settings.ts';
import { dispatch, finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { systemClock } from '../std/clock.ts';
import { MovableClock } from '../std/movable-clock.ts';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { until } from '../testing/until.ts';

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

/** The clock of a server, moved until something holds that follows from it. */
async function untilLater(clock: MovableClock, holds: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    clock.advance(11_000);
    return holds();
  });
}

interface Apart {
  readonly server: RunningServer;
  readonly clock: MovableClock;
  readonly jobId: string;
  /** What happened, as the client reads it. */
  readonly types: () => Promise<string[]>;
  /** What the metrics say of moving. */
  readonly backlog: () => Promise<number>;
}

/** A job that was followed to its end, on a server with its history elsewhere. */
async function ended(closing: AsyncDisposableStack, config: Partial<Config>): Promise<Apart> {
  const clock = new MovableClock(systemClock);
  const { log } = listeningLog();
  const server = await createServer({ blueprints: [count], log }).start({
    config: { port: 0, ...config },
    clock,
  });
  closing.defer(() => server.stop());
  const { jobs } = server.client();
  const { jobId } = await jobs.start('count');
  const followed: string[] = [];
  const following = (async () => {
    for await (const event of jobs.watch(jobId)) followed.push(JSON.stringify(event));
  })();
  const worker = createWorker({ url: server.url, skills: { count: async () => ({}) } });
  worker.start();
  assert.equal((await jobs.wait(jobId, { timeout: '30s' })).status, 'finished');
  await worker.stop();
  await following;
  assert.match(followed.at(-1) ?? '', /job_finished/);
  const types = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { type } of jobs.history(jobId)) found.push(type);
    return found;
  };
  const backlog = async (): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^history_backlog (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
  };
  return { server, clock, jobId, types, backlog };
}

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`A-73 on ${kind} history can be switched off: a job can be followed to its end, and its book goes a minute later`, async () => {
    const schema = schemas.newName();
    const storeUrl = kind === 'SQLite' ? null : schemas.urlOf(schema);
    await using closing = new AsyncDisposableStack();
    closing.defer(() => schemas.drop(schema));
    const dataDir = join(folderWith(), 'data');
    const { clock, types } = await ended(closing, { dataDir, storeUrl, history: 'off' });
    assert.ok((await types()).includes('job_finished'));
    await untilLater(clock, async () => (await types()).length === 0);
  });

  test(`A-45 A-73 S-45 on ${kind} history can lie in a database of its own, and is read from there`, async () => {
    const [schema, other] = [schemas.newName(), schemas.newName()];
    const storeUrl = kind === 'SQLite' ? null : schemas.urlOf(schema);
    const folder = folderWith();
    const history =
      kind === 'SQLite' ? `sqlite:${join(folder, 'history.db')}` : schemas.urlOf(other);
    const config = { dataDir: join(folder, 'data'), storeUrl, history };
    await using closing = new AsyncDisposableStack();
    closing.defer(() => schemas.drop(schema));
    closing.defer(() => schemas.drop(other));
    const { server, clock, jobId, types, backlog } = await ended(closing, config);
    const before = await types();
    assert.ok(before.includes('task_assigned'));
    assert.ok((await backlog()) > 0);
    await untilLater(clock, async () => (await backlog()) === 0);
    assert.deepEqual(await types(), before);
    const all: string[] = [];
    for await (const event of server.client().events({ after: 0 })) {
      all.push(event.entry.type);
      if (all.length === before.length) break;
    }
    assert.deepEqual(all, before);
    await server.stop();
    // Another place than that to which it was moved: no empty book, but a refusal that says why.
    const elsewhere =
      kind === 'SQLite' ? `sqlite:${join(folder, 'other.db')}` : schemas.urlOf(`${other}_x`);
    closing.defer(() => schemas.drop(`${other}_x`));
    const { log } = listeningLog();
    const again = await createServer({ blueprints: [count], log }).start({
      config: { port: 0, ...config, history: elsewhere },
      clock,
    });
    closing.defer(() => again.stop());
    const answer = await fetch(`${again.url}/api/v1/jobs/${jobId}/history`);
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /was moved to another database/);
  });
}

test('A-73 S-50 a store that is moved leaves its history where it lies, says so, and goes on reading it', async () => {
  const folder = folderWith();
  const history = `sqlite:${join(folder, 'history.db')}`;
  await using closing = new AsyncDisposableStack();
  const scene = await ended(closing, { dataDir: join(folder, 'data'), history });
  const before = await scene.types();
  await untilLater(scene.clock, async () => (await scene.backlog()) === 0);
  await scene.server.stop();
  const asked = ['move', '--from', 'data', '--to', 'moved'];
  const dry = await runIn(folder, [...asked, '--dry-run']);
  assert.match(dry.stdout, /the history of 1 jobs lies apart and stays there/, dry.stderr);
  assert.match((await runIn(folder, asked)).stdout, /archived_book +1 .*lies apart/s);
  const { log } = listeningLog();
  const config = { port: 0, dataDir: join(folder, 'moved'), history };
  const server = await createServer({ blueprints: [count], log }).start({ config });
  closing.defer(() => server.stop());
  const after: string[] = [];
  for await (const { type } of server.client().jobs.history(scene.jobId)) after.push(type);
  assert.deepEqual(after, before);
});

test('A-73 the setting is refused where it names no place, or one that other servers do not reach', async () => {
  const { log } = listeningLog();
  const server = createServer({ blueprints: [count], log });
  const refused = async (config: Partial<Config>, message: RegExp): Promise<void> => {
    const dataDir = join(folderWith(), 'data');
    const start = server.start({ config: { port: 0, dataDir, ...config } });
    await assert.rejects(start, { code: 'CONFIG_INVALID', message });
  };
  await refused({ history: 'maybe' }, /^history: has to be on, off, sqlite:/);
  await refused(
    { history: 'sqlite:history.db', storeUrl: schemas.url },
    /^history: with store_url it has to be/,
  );
  await refused(
    { history: 'postgres://ann:secret@host/db?schema=No' },
    /^history: the URL names "No"/,
  );
});

test('A-73 capataz config shows on and off, and of a place only that there is one; HISTORY_DATABASE_URI is understood', async () => {
  const shown = async (environment: Record<string, string>): Promise<string> => {
    const { stdout } = await runIn(folderWith(), ['config'], { environment });
    return stdout.split('\n').find((line) => /^history /.test(line)) ?? '';
  };
  assert.match(await shown({}), /^history +on +default/);
  assert.match(await shown({ CAPATAZ_HISTORY: 'off' }), /^history +off +environment/);
  assert.match(await shown({ HISTORY_DATABASE_URI: '' }), /^history +on +default/);
  const uri = await shown({ HISTORY_DATABASE_URI: 'postgresql://ann:secret@host/db' });
  assert.match(uri, /^history +\*+ +environment HISTORY_DATABASE_URI \(alias\)/);
});
