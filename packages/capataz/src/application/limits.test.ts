/** Every setting that limits something, at its smallest and exceeded once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { blueprint, dispatch, sleep, transition } from 'capataz';
import { type Bus, BusError, createInProcessBus } from 'capataz/bus';
import { createServer, type RunningServer } from 'capataz/server';
import { workerOf } from '../cli/run-worker.ts';
import { loadConfig } from '../config/load.ts';
import { type Config, settings } from '../config/settings.ts';
import { silentLog } from '../std/log.ts';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { ask } from '../testing/ask.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { until } from '../testing/until.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';

const schemas = Schemas.ofThisFile();
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const gate = Promise.withResolvers<void>();
let atOnce = 0;
let mostAtOnce = 0;

const blueprints = [
  blueprint({
    name: 'rests',
    version: 1,
    states: {
      rest: { start: true, to: ['done'], handle: () => sleep('1d', 'done') },
      done: { end: true },
    },
  }),
  blueprint({
    name: 'ends',
    version: 1,
    states: { done: { start: true, end: true } },
  }),
  blueprint({
    name: 'hops',
    version: 1,
    states: {
      one: { start: true, to: ['two'], handle: () => transition('two') },
      two: { to: ['three'], handle: () => transition('three') },
      three: { end: true },
    },
  }),
  blueprint({
    name: 'runs',
    version: 1,
    states: {
      go: {
        start: true,
        to: ['done'],
        run: async () => {
          atOnce += 1;
          mostAtOnce = Math.max(mostAtOnce, atOnce);
          await gate.promise;
          atOnce -= 1;
          return transition('done');
        },
      },
      done: { end: true },
    },
  }),
  blueprint({
    name: 'works',
    version: 1,
    states: {
      go: {
        start: true,
        to: ['done'],
        retry: { max: 0 },
        handle: () => dispatch('work', {}, { on: { success: 'done' }, executionLimit: '10h' }),
      },
      done: { end: true },
    },
  }),
  speakingBlueprint('topic', 'said'),
];

interface Scene {
  readonly server: RunningServer;
  readonly clock: VirtualClock;
}

type Work = (scene: Scene) => Promise<void>;

async function within(config: Partial<Config>, work: Work, bus?: Bus): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'capataz-limits-'));
  folders.push(dataDir);
  const clock = new VirtualClock();
  const parts = { blueprints, log: silentLog, ...(bus === undefined ? {} : { bus }) };
  const server = await createServer(parts).start({
    config: { port: 0, dataDir, drain: 0, ...config },
    clock,
  });
  try {
    await work({ server, clock });
  } finally {
    const stopped = server.stop();
    await clock.advance(1);
    await stopped;
  }
}

async function start({ server }: Scene, name: string): Promise<string> {
  return (await server.client().jobs.start(name)).jobId;
}

async function statusOf({ server }: Scene, id: string): Promise<string> {
  return (await server.client().jobs.get(id)).status;
}

const refused =
  (route: (scene: Scene) => Promise<string> | string, body: string, expected: object): Work =>
  async (scene) => {
    const answer = await ask(scene.server.url, await route(scene), { rawBody: body });
    assert.partialDeepStrictEqual(answer, expected);
  };

async function holdTransfer(scene: Scene): Promise<void> {
  const { url } = scene.server;
  const path = `/api/v1/jobs/${await start(scene, 'rests')}/files/f`;
  const headers = { 'Content-Type': 'application/octet-stream' };
  const first = request(`${url}${path}`, { method: 'PUT', headers });
  first.on('error', () => undefined);
  first.write('one');
  // Once the first is under way the others are refused.
  for (;;) {
    const busy = await ask(url, `PUT ${path}`, { headers, rawBody: 'two' });
    if (busy.status === 200) continue;
    assert.partialDeepStrictEqual(busy, { status: 503, json: { code: 'FILES_BUSY' } });
    break;
  }
  first.destroy();
}

/** Of the batched form, which says what it has and has not begun. @returns the attempt */
async function takeTask({ server }: Scene, worker: string): Promise<string> {
  const extra = { batch: true, slots: 1, boot_id: 'b', heartbeat_interval_ms: 10_000 };
  await ask(server.url, 'POST /_worker/workers/register', {
    body: { worker_id: worker, supported_skills: ['work'], capabilities: { extra } },
  });
  const path = `/_worker/workers/${worker}/tasks/next?timeout=0&max=1`;
  const { json } = await ask(server.url, `GET ${path}`);
  return (json as { tasks: { task_id: string }[] }).tasks[0]?.task_id ?? '';
}

/** Workers that live and begin nothing, by the attempts that they hold. */
async function liveOn(
  { server, clock }: Scene,
  held: Readonly<Record<string, string>>,
  ms: number,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10_000) {
    await clock.advance(10_000);
    for (const [worker, attempt] of Object.entries(held)) {
      const body = { worker_id: worker, current_tasks: [], prefetched_tasks: [attempt] };
      const route = `PATCH /_worker/workers/${worker}`;
      assert.equal((await ask(server.url, route, { body })).status, 200);
    }
  }
}

const limits: Readonly<Record<string, () => Promise<void>>> = {
  maxBodyBytes: () =>
    within(
      { maxBodyBytes: 1_024 },
      refused(() => 'POST /api/v1/jobs/ends', JSON.stringify({ initial_data: 'x'.repeat(1_024) }), {
        status: 413,
        json: { code: 'PAYLOAD_TOO_LARGE' },
      }),
    ),
  filesMaxSize: () =>
    within({ filesMaxSize: 1 }, async (scene) => {
      const path = `PUT /api/v1/jobs/${await start(scene, 'rests')}/files/f`;
      const headers = { 'Content-Type': 'application/octet-stream' };
      const put = (rawBody: string) => ask(scene.server.url, path, { headers, rawBody });
      assert.equal((await put('x')).status, 200);
      const told = await put('xx');
      assert.partialDeepStrictEqual(told, { status: 413, json: { code: 'PAYLOAD_TOO_LARGE' } });
    }),
  filesMaxTransfers: () => within({ filesMaxTransfers: 1 }, holdTransfer),
  maxStreams: () =>
    within({ maxStreams: 0 }, async ({ server }) => {
      const answer = await ask(server.url, 'GET /api/v1/events');
      assert.partialDeepStrictEqual(answer, { status: 429, json: { code: 'LIMIT' } });
      assert.ok(answer.headers.has('retry-after'));
    }),
  maxTransitions: () =>
    within({ maxTransitions: 1 }, async (scene) => {
      const { error, status } = await scene.server.client().jobs.get(await start(scene, 'hops'));
      assert.equal(status, 'failed');
      assert.match(`${error?.code} ${error?.message}`, /LOOP.* 1 /);
    }),
  maxHandlers: () =>
    within({ maxHandlers: 1 }, async (scene) => {
      const ids = [await start(scene, 'runs'), await start(scene, 'runs')];
      gate.resolve();
      for (const id of ids)
        assert.equal((await scene.server.client().jobs.wait(id)).status, 'finished');
      assert.equal(mostAtOnce, 1);
    }),
  retentionCount: () =>
    within({ retentionCount: 1 }, async (scene) => {
      const [first, second] = [await start(scene, 'ends'), await start(scene, 'ends')];
      await scene.clock.advance(61_000);
      const { jobs } = scene.server.client();
      await until(async () => (await jobs.list()).jobs.length === 1);
      await assert.rejects(statusOf(scene, first), { code: 'JOB_NOT_FOUND' });
      assert.equal(await statusOf(scene, second), 'finished');
    }),
  timeoutBatchSize: () =>
    within(
      { timeoutBatchSize: 1, assignedTimeout: 20_000, timeoutCheckInterval: 60_000 },
      async (scene) => {
        const ids = [await start(scene, 'works'), await start(scene, 'works')];
        const held = { w1: await takeTask(scene, 'w1'), w2: await takeTask(scene, 'w2') };
        const given = async (): Promise<number> => {
          const statuses = await Promise.all(ids.map((id) => statusOf(scene, id)));
          return statuses.filter((status) => status === 'quarantined').length;
        };
        await liveOn(scene, held, 61_000);
        await until(async () => (await given()) > 0);
        await liveOn(scene, held, 20_000);
        assert.equal(await given(), 1);
        await liveOn(scene, held, 41_000);
        await until(async () => (await given()) === 2);
      },
    ),
  workerConcurrency: () =>
    within({}, async (scene) => {
      let running = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        running += 1;
        most = Math.max(most, running);
        await settle();
        running -= 1;
      };
      const directory = import.meta.dirname;
      const environment = { CAPATAZ_WORKER_CONCURRENCY: '1', CAPATAZ_WORKER_ID: 'w' };
      const config = loadConfig({ flags: {}, environment, directory }).values;
      const module = { path: 'work.ts', name: 'work', options: { skills: { work } } };
      const worker = await workerOf(module, config, scene.server.url, silentLog);
      await worker.start();
      const ids = [await start(scene, 'works'), await start(scene, 'works')];
      for (const id of ids) await scene.server.client().jobs.wait(id);
      await worker.stop();
      assert.equal(most, 1);
    }),
  storeConnections: async () => {
    const schema = schemas.newName();
    const storeUrl = schemas.urlOf(schema);
    await within({ storeUrl, storeConnections: 1 }, async (scene) => {
      const ids = await Promise.all(Array.from({ length: 20 }, () => start(scene, 'ends')));
      const statuses = await Promise.all(ids.map((id) => statusOf(scene, id)));
      assert.deepEqual(new Set(statuses), new Set(['finished']), 'they wait for each other');
      const connections = await schemas.pool.query(
        'SELECT pid FROM pg_stat_activity WHERE application_name = $1',
        [`capataz ${schema}`],
      );
      // That one, up to two that commit, and the one that listens.
      assert.ok([3, 4].includes(connections.rowCount ?? 0), `${connections.rowCount} connections`);
    });
    await schemas.drop(schema);
  },
  outboxMaxRetries: () => {
    const inner = createInProcessBus({ clock: new VirtualClock() });
    const bus: Bus = {
      publish: () => Promise.reject(new BusError('invalid', 'nobody wants it')),
      declare: (queue) => inner.declare(queue),
      subscribe: (queue, receive) => inner.subscribe(queue, receive),
      reviewDead: (name, decide) => inner.reviewDead(name, decide),
      health: () => inner.health(),
      close: () => inner.close(),
    };
    return within(
      { outboxMaxRetries: 0 },
      async (scene) => {
        const jobId = await start(scene, 'speaker');
        const { deadLetters } = scene.server.client();
        await until(async () => (await deadLetters.list({ jobId })).dead_letters.length > 0);
        const { dead_letters } = await deadLetters.list({ jobId });
        assert.partialDeepStrictEqual(dead_letters, [{ name: 'said', tries: 1 }]);
      },
      bus,
    );
  },
};

test('B-064 each limit there is bites at its smallest, with its documented answer', async (t) => {
  const counted = Object.entries(settings).filter(([, { type }]) => type === 'integer');
  const names = counted.map(([name]) => name);
  assert.deepEqual(Object.keys(limits).toSorted(), names.toSorted());
  for (const [name, exceed] of Object.entries(limits)) await t.test(name, exceed);
});
