/** An application as a program starts it: through the public entry points alone. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { blueprint, CapatazError, finish, waitFor } from 'capataz';
import { type BusEvent, busSource, createInProcessBus, envelopeCodec } from 'capataz/bus';
import {
  clientOf,
  createServer,
  type JobEvent,
  ok,
  type Route,
  type Server,
  type ServerOptions,
} from 'capataz/server';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { ask } from '../testing/ask.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { until } from '../testing/until.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function dataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-compose-'));
  folders.push(folder);
  return folder;
}

const place = () => ({ config: { port: 0, dataDir: dataDir() } });
const compose = <const O extends ServerOptions>(options: O): Server =>
  createServer({ log: silentLog, ...options });

const names = blueprint({
  name: 'names',
  version: 1,
  stores: { own: 'of the blueprint' },
  states: {
    begin: {
      start: true,
      to: ['late'],
      handle: (job) => {
        job.data.first = `${job.stores.shared}, ${job.stores.own}`;
        return { type: 'transition', to: 'late' };
      },
    },
    late: {
      end: true,
      run: async (job) => {
        job.data.second = `${job.stores.shared}, ${job.stores.own}`;
        return finish(job.data);
      },
    },
  },
});

const told = blueprint({
  name: 'told',
  version: 1,
  states: {
    wait: { start: true, on: { go: 'done' }, handle: () => waitFor({ deadline: '1h' }) },
    done: { end: true },
  },
});

test('A-7: stores of the application are reachable by name in every handler, beside the blueprint’s own, which go before', async () => {
  const stores = { shared: 'of the application', own: 'hidden' };
  const server = await compose({ blueprints: [names], stores }).start(place());
  try {
    const { jobId } = await server.client().jobs.start('names');
    const job = await server.client().jobs.wait(jobId);
    const expected = 'of the application, of the blueprint';
    assert.deepEqual(job.result, { first: expected, second: expected });
    assert.equal(names.stores.shared, undefined);
  } finally {
    await server.stop();
  }
});

test('S-65: parts are made from settings and stores, run with the server and end before its store does', async () => {
  const log: string[] = [];
  const ran = Promise.withResolvers<string>();
  const delivered = Promise.withResolvers<void>();
  const application = createServer({
    name: 'relay',
    log: silentLog,
    settings: {
      pace: { type: 'duration', default: '1m', meaning: 'How often.' },
      label: { type: 'string', default: null, meaning: 'What it is called.' },
    },
    blueprints: ({ settings }) => (settings.label === 'x' ? [told] : []),
    stores: ({ settings }) => ({
      seen: [] as JobEvent[],
      position: { at: 0 },
      pace: settings.pace,
    }),
    schedules: ({ settings }) => [
      {
        name: 'once',
        every: `${settings.pace}ms`,
        atStart: true,
        run: async (server) => {
          const { jobId } = await server.client().jobs.start('told');
          await server.client().jobs.signal(jobId, 'go');
          ran.resolve(jobId);
        },
      },
    ],
    feeds: ({ stores }) => [
      {
        name: 'seen',
        position: () => stores.position.at,
        apply: (events, position) => {
          stores.seen.push(...events);
          stores.position.at = position;
          if (events.some(({ entry }) => entry.type === 'job_finished')) delivered.resolve();
        },
      },
    ],
    onStart: ({ stores, openTo }) => {
      log.push(`start ${stores.pace} ${openTo.length > 0}`);
    },
    onStop: ({ settings }) => {
      log.push(`stop ${settings.label}`);
    },
  });
  const server = await application.start({ ...place(), settings: { label: 'x' } });
  const jobId = await ran.promise;
  const client = server.client();
  await delivered.promise;
  const book: number[] = [];
  for await (const { seq } of client.jobs.history(jobId)) book.push(seq);
  await server.stop();
  const seen = server.stores.seen.filter((event) => event.jobId === jobId);
  assert.deepEqual(
    seen.map(({ entry }) => entry.seq),
    book,
  );
  assert.deepEqual(log, ['start 60000 true', 'stop x']);
});

const greeting: Route = {
  method: 'GET',
  path: '/relay/greeting/{id}',
  area: 'client',
  operation: {
    id: 'greet',
    summary: 'Greets',
    params: { id: 'Whom.' },
    answers: { 200: { description: 'A greeting' } },
  },
  handle: (call) => ok({ client: clientOf(call).name }),
};

test('S-65: a route of the application has the areas of ours, and stands in the document', async () => {
  const server = await compose({ routes: [greeting] }).start(place());
  try {
    const { json } = await ask(server.url, 'GET /relay/greeting/ana');
    assert.deepEqual(json, { client: 'dev' });
    const document = await ask(server.url, 'GET /_public/openapi.json');
    assert.match(document.text, /"\/relay\/greeting\/\{id\}"/);
  } finally {
    await server.stop();
  }
});

test('S-65: a route that takes requests of ours, or of another, stops the start and names both', async () => {
  const clashes: (readonly [Partial<Route>, RegExp])[] = [
    [{ path: '/api/v1/jobs' }, /GET \/api\/v1\/jobs takes requests of GET \/api\/v1\/jobs/],
    [{ path: '/api/v1/jobs/new' }, /takes requests of GET \/api\/v1\/jobs\/\{id\}/],
    [{ path: '/api/v1/{kind}/x' }, /takes requests of GET \/api\/v1\/jobs\/\{id\}/],
    [{ path: '/relay/greeting/ana' }, /takes requests of GET \/relay\/greeting\/\{id\}/],
    [
      {
        path: '/relay/other',
        operation: { ...greeting.operation, id: 'listJobs' },
      },
      /has the operation id of GET \/api\/v1\/jobs/,
    ],
  ];
  for (const [fields, message] of clashes) {
    const operation = { ...greeting.operation, id: 'second' };
    const routes = [greeting, { ...greeting, operation, ...fields }];
    await assert.rejects(
      compose({ routes }).start(place()),
      (error) => error instanceof CapatazError && message.test(error.message),
      fields.path,
    );
  }
  const beside = { ...greeting, path: '/api/v1/relay' };
  const server = await compose({ routes: [beside] }).start(place());
  await server.stop();
});

test('a start that fails closes what it opened, and the data folder is free', async () => {
  const log: string[] = [];
  const where = place();
  const failing = compose({
    onStart: () => Promise.reject(new Error('no such printer')),
    onStop: () => {
      log.push('closed');
    },
  });
  await assert.rejects(failing.start(where), /no such printer/);
  assert.deepEqual(log, ['closed']);
  const server = await compose({}).start(where);
  await server.stop();
});

test('names that are taken, or are none, are told at once', () => {
  const run = (): void => {};
  const setting = { type: 'string', default: null, meaning: 'x' } as const;
  const wrong: (readonly [ServerOptions, RegExp])[] = [
    [{ name: 'My App' }, /the name "My App"/],
    [{ settings: { label: setting } }, /needs a name of its own/],
    [{ name: 'relay', settings: { dataDir: setting } }, /setting "dataDir": --data-dir is one/],
    [{ name: 'relay', settings: { Label: setting } }, /write it in camelCase/],
    [
      { name: 'relay', settings: { pin: { ...setting, type: 'integer', secret: true } } },
      /a secret is a string/,
    ],
    [
      { name: 'relay', commands: [{ name: 'jobs <x>', description: 'x', run }] },
      /command "jobs": Capataz has one/,
    ],
  ];
  for (const [options, message] of wrong) assert.throws(() => createServer(options), message);
});

test('S-58: what jobs emit reaches the bus that the server is composed with, and its breaker is in the metrics', async () => {
  const speaks = speakingBlueprint('topico.tareas', 'tarea.creada');
  const bus = createInProcessBus({ clock: systemClock });
  const heard = Promise.withResolvers<BusEvent>();
  const queue = { durable: 'listener', exchange: 'topico.tareas', patterns: ['tarea.*'] };
  await bus.subscribe(queue, (delivery) => {
    delivery.ack();
    heard.resolve(delivery.event);
  });
  const server = await compose({ name: 'app', blueprints: [speaks], bus }).start(place());
  try {
    const { jobId } = await server.client().jobs.start('speaker');
    const event = await heard.promise;
    assert.equal(event.job, jobId);
    assert.equal(event.originator, 'app');
    assert.deepEqual(event.payload, { job: jobId });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(metrics, /worker_id="bus"\} 0/);
  } finally {
    await server.stop();
  }
  await assert.rejects(bus.publish('topico.tareas', await heard.promise), { code: 'closed' });
});

test('a bus_url that is none stops the start and is named', async () => {
  const message = 'bus_url: it has to begin with amqp:// (RabbitMQ) or postgres://';
  for (const busUrl of ['http://u:s3cret@broker', 'redis://broker', 'broker']) {
    const config = { ...place().config, busUrl };
    await assert.rejects(compose({}).start({ config }), { code: 'CONFIG_INVALID', message });
  }
});

test('S-58: without a bus of its own an application hears its jobs in process, and what it was not through with comes again after a restart', async () => {
  const speaks = speakingBlueprint('topico', 'tarea.creada', 'tarea.rota');
  const where = place();
  const heard: string[] = [];
  const stuck = Promise.withResolvers<void>();
  let isFirst = true;
  const app = compose({
    blueprints: [speaks],
    subscriptions: ({ bus }) => [
      {
        name: 'listener',
        source: busSource(bus, { durable: 'listener', exchange: 'topico', patterns: ['#'] }),
        stopGraceMs: 1,
        handle: async ({ name }, { signal }) => {
          if (isFirst) {
            stuck.resolve();
            await once(signal, 'abort');
            throw signal.reason;
          }
          if (name === 'tarea.rota') return { deadLetter: 'it is broken' };
          heard.push(name);
          return undefined;
        },
      },
    ],
  });
  const first = await app.start({ config: { ...where.config, drain: 1 } });
  const { jobId } = await first.client().jobs.start('speaker');
  await stuck.promise;
  await first.stop();
  isFirst = false;
  const second = await app.start({ config: where.config });
  try {
    const { deadLetters } = second.client();
    await until(async () => (await deadLetters.list()).dead_letters.length > 0);
    assert.deepEqual(heard, ['tarea.creada']);
    const { dead_letters } = await deadLetters.list();
    assert.partialDeepStrictEqual(dead_letters, [
      { job_id: jobId, name: 'tarea.rota', tries: 1, error: 'it is broken' },
    ]);
  } finally {
    await second.stop();
  }
});

test('S-69 H-32: silence of a wait means nothing while its subscription is down, and the metrics say that it is', async () => {
  const listens = blueprint({
    name: 'listens',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['heard', 'silent'],
        handle: () =>
          waitFor({
            on: { go: 'heard', silence: 'silent' },
            silence: { after: '200ms' },
            subscription: 'answers',
          }),
      },
      heard: { end: true },
      silent: { end: 'failed' },
    },
  });
  const bus = createInProcessBus({ clock: systemClock });
  const queue = { durable: 'answers', exchange: 'topico', patterns: ['respuesta'] };
  await bus.declare(queue);
  const source = busSource(bus, queue);
  let isDown = true;
  const server = await compose({
    blueprints: [listens],
    bus,
    subscriptions: ({ client }) => [
      {
        name: 'answers',
        source: {
          subscribe: async (receive, prefetch) => {
            if (isDown) throw new Error('the broker is away');
            return source.subscribe(receive, prefetch);
          },
        },
        reconnect: { initialDelayMs: 20, maxDelayMs: 20 },
        handle: async ({ id, job }) => {
          await client().signals.send([{ jobId: job, name: 'go', signalId: id }]);
        },
      },
    ],
  }).start(place());
  try {
    const { jobs } = server.client();
    const { jobId } = await jobs.start('listens');
    const event = { id: 'e-1', job: jobId, sequence: 1, correlationId: 'c', time: 0 };
    const words = { originator: 'test', name: 'respuesta', payload: null, trace: null };
    await bus.publish('topico', { ...event, ...words });
    for await (const seen of jobs.watch(jobId)) {
      if (seen.type === 'entry' && seen.entry.type === 'silence_prolonged') break;
    }
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(metrics, /^bus_subscription_live\{subscription="answers"\} 0$/m);
    isDown = false;
    assert.equal((await jobs.wait(jobId)).state, 'heard');
    const after = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(after, /^bus_subscription_live\{subscription="answers"\} 1$/m);
  } finally {
    await server.stop();
  }
});

test('S-65: subscriptions handle what comes over the bus as long as the server runs', async () => {
  const bus = createInProcessBus({ clock: systemClock });
  const queue = { durable: 'answers', exchange: 'topico', patterns: ['respuesta'] };
  const server = await compose({
    name: 'app',
    blueprints: [told],
    bus,
    subscriptions: ({ client }) => [
      {
        name: 'answers',
        source: busSource(bus, queue),
        handle: async ({ id, job }) => {
          await client().signals.send([{ jobId: job, name: 'go', signalId: id }]);
        },
      },
    ],
  }).start(place());
  const client = server.client();
  const { jobId } = await client.jobs.start('told');
  await bus.declare(queue);
  const event = { id: 'e-1', job: jobId, sequence: 1, correlationId: 'c', time: 0 };
  const words = { originator: 'test', name: 'respuesta', payload: null, trace: null };
  await bus.publish('topico', { ...event, ...words });
  const job = await client.jobs.wait(jobId);
  await server.stop();
  assert.deepEqual([job.status, job.state], ['finished', 'done']);
});

test('a composition names the codec of the bus that the server makes itself', async () => {
  const read: string[] = [];
  const server = await compose({
    name: 'app',
    blueprints: [speakingBlueprint('topico', 'dicho')],
    codec: {
      encode: (event) => ({ ...envelopeCodec.encode(event), routingKey: `es.${event.name}` }),
      decode: (message) => {
        read.push(message.routingKey);
        return envelopeCodec.decode(message);
      },
    },
    subscriptions: ({ bus }) => [
      {
        name: 'listener',
        source: busSource(bus, { durable: 'listener', exchange: 'topico', patterns: ['es.*'] }),
        handle: () => undefined,
      },
    ],
  }).start(place());
  await server.client().jobs.start('speaker');
  await until(() => read.length > 0);
  await server.stop();
  assert.deepEqual(read, ['es.dicho']);
});

test('S-65: store_url = "memory:" keeps jobs as long as the server runs, and leaves no store behind', async () => {
  const { config } = place();
  const app = compose({ blueprints: [names], stores: { shared: 'x' } });
  const start = () => app.start({ config: { ...config, storeUrl: 'memory:' } });
  const first = await start();
  const { jobId } = await first.client().jobs.start('names');
  assert.equal((await first.client().jobs.wait(jobId)).status, 'finished');
  await first.stop();
  const second = await start();
  try {
    await assert.rejects(second.client().jobs.get(jobId), { code: 'JOB_NOT_FOUND' });
    assert.equal(existsSync(join(config.dataDir, 'capataz.db')), false);
  } finally {
    await second.stop();
  }
});

test('S-66: what applies events may ask the server until the last one, and the rest comes after the next start', async () => {
  const errors: string[] = [];
  const log = { ...silentLog, error: (message: string) => errors.push(message) };
  const seen = new Set<string>();
  let position = 0;
  const app = compose({
    log: { ...log, child: () => ({ ...log, child: () => silentLog }) } as typeof silentLog,
    blueprints: [told],
    feeds: ({ client }) => [
      {
        name: 'seen',
        position: () => position,
        apply: async (events, at) => {
          for (const { jobId } of events) seen.add((await client().jobs.get(jobId)).id);
          position = at;
        },
      },
    ],
  });
  const where = place();
  const first = await app.start(where);
  const jobs = Array.from({ length: 20 }, () => first.client().jobs.start('told'));
  const ids = (await Promise.all(jobs)).map(({ jobId }) => jobId);
  await first.stop();
  assert.deepEqual(errors, []);
  const second = await app.start(where);
  await until(() => ids.every((id) => seen.has(id)));
  await second.stop();
});
