import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemRandom } from '../../std/random.ts';
import { busSuite } from '../../testing/bus-suite.ts';
import { eventOf, Inbox, one } from '../../testing/bus-suite-kit.ts';
import { rabbitService } from '../../testing/services.ts';
import { until } from '../../testing/until.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { type Bus, type BusCodec, BusError } from '../contract.ts';
import { eventHeaders } from '../envelope.ts';
import { pickyCodec } from '../fixtures/picky-codec.ts';
import { consumersAt, removeFromRabbit, withChannel } from '../fixtures/rabbit-room.ts';
import { TcpProxy } from '../fixtures/tcp-proxy.ts';
import { busSource, createSubscriber, type SubscriberStatus } from '../subscriber.ts';
import { createRabbitBus, type RabbitBusOptions } from './rabbit-bus.ts';

const service = await rabbitService();
after(() => service.close());

busSuite('RabbitMQ', async () => {
  const buses: Bus[] = [];
  const another = (): Bus => {
    const bus = createRabbitBus({ url: service.url, codec: pickyCodec, name: 'capataz test' });
    buses.push(bus);
    return bus;
  };
  return {
    bus: another(),
    prefix: newPrefix(),
    another,
    close: async (used) => {
      await Promise.all(buses.map((bus) => bus.close()));
      await removeFromRabbit(service.url, used);
    },
  };
});

function newPrefix(): string {
  return `capataz-test.${systemRandom.id()}`;
}

/** A bus behind a proxy, one that has the broker to itself, and a queue that is removed afterwards. */
class Scene implements AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly bus: Bus;
  readonly direct: Bus;
  readonly queue: { durable: string; exchange: string; patterns: string[] };
  readonly clock = new VirtualClock();
  readonly handled = new Inbox();
  readonly #statuses = new Map<SubscriberStatus, () => void>();

  private constructor(proxy: TcpProxy, options: Partial<RabbitBusOptions>) {
    this.proxy = proxy;
    const url = new URL(service.url);
    url.host = `127.0.0.1:${proxy.port}`;
    this.bus = createRabbitBus({ url: url.href, clock: this.clock, ...options });
    this.direct = createRabbitBus({ url: service.url });
    const prefix = newPrefix();
    this.queue = { durable: `${prefix}.smith`, exchange: `${prefix}.tareas`, patterns: ['#'] };
  }

  static async open(options: Partial<RabbitBusOptions> = {}): Promise<Scene> {
    return new Scene(await TcpProxy.open(service), options);
  }

  /** Its delays run on the scene's clock; what it handles is in `handled`. */
  subscriber() {
    return createSubscriber({
      name: 'smith',
      source: busSource(this.bus, this.queue),
      clock: this.clock,
      handle: (event, { deliveries }) => {
        const nothing = (): void => undefined;
        const delivery = { event, deliveries, ack: nothing, release: nothing };
        this.handled.receive({ ...delivery, deadLetter: async () => undefined });
      },
      onChange: ({ status }) => this.#statuses.get(status)?.(),
    });
  }

  /** Resolves when the subscriber next becomes so. */
  becomes(status: SubscriberStatus): Promise<void> {
    return new Promise((resolve) => this.#statuses.set(status, resolve));
  }

  post(id: string): Promise<void> {
    return this.direct.publish(this.queue.exchange, eventOf(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.bus.close(), this.direct.close()]);
    await this.proxy.close();
    const { exchange, durable } = this.queue;
    await removeFromRabbit(service.url, { exchanges: [exchange], durables: [durable] });
  }
}

test('H-25 B-079 a connection that is cut is made again, and what is posted afterwards is handled', async () => {
  await using scene = await Scene.open();
  const live = scene.becomes('live');
  const subscriber = scene.subscriber();
  await live;
  await scene.post('1');
  await scene.handled.first(1);
  const down = scene.becomes('down');
  scene.proxy.cut();
  await down;
  const again = scene.becomes('live');
  await scene.clock.advance(1_000);
  await again;
  await scene.post('2');
  await scene.handled.first(2);
  assert.deepEqual(scene.handled.ids, ['1', '2']);
  await subscriber.stop();
});

test('H-26 H-31 while connections are refused it waits longer each time; then all that was posted is handled', async () => {
  await using scene = await Scene.open();
  const live = scene.becomes('live');
  const subscriber = scene.subscriber();
  await live;
  const down = scene.becomes('down');
  scene.proxy.refuse();
  await down;
  for (const nominalMs of [1_000, 2_000, 4_000]) {
    await until(() => subscriber.health().nominalDelayMs === nominalMs);
    const attempt = scene.proxy.connection();
    await scene.clock.advance(nominalMs);
    await attempt;
  }
  await until(() => subscriber.health().nominalDelayMs === 8_000);
  for (let number = 0; number < 100; number += 1) await scene.post(String(number));
  scene.proxy.pass();
  await scene.clock.advance(8_000);
  await scene.handled.first(100);
  assert.deepEqual(
    scene.handled.ids,
    Array.from({ length: 100 }, (_, number) => String(number)),
  );
  await subscriber.stop();
});

test('B-076 B-093 a link that is silent is noticed by its heartbeats, and made again', async () => {
  await using scene = await Scene.open({ heartbeatSeconds: 1 });
  const live = scene.becomes('live');
  const subscriber = scene.subscriber();
  await live;
  const down = scene.becomes('down');
  scene.proxy.stall();
  await down;
  assert.match(subscriber.health().lastError ?? '', /heartbeat/);
  scene.proxy.cut();
  scene.proxy.pass();
  const again = scene.becomes('live');
  await scene.clock.advance(1_000);
  await again;
  await scene.post('1');
  await scene.handled.first(1);
  await subscriber.stop();
});

test('H-28 nothing is left at the broker of a subscriber that was stopped', async () => {
  await using scene = await Scene.open();
  const live = scene.becomes('live');
  const subscriber = scene.subscriber();
  await live;
  assert.equal(await consumersAt(service.url, scene.queue.durable), 1);
  await subscriber.stop();
  assert.equal(await consumersAt(service.url, scene.queue.durable), 0);
  assert.equal(scene.clock.pending, 0);
});

test('H-x a publisher that gets no confirmation says so, and publishes again over a new link', async () => {
  await using scene = await Scene.open();
  const inbox = new Inbox();
  await scene.direct.subscribe(scene.queue, inbox.receive);
  await scene.bus.publish(scene.queue.exchange, eventOf('1'));
  scene.proxy.stall();
  const doubtful = scene.bus.publish(scene.queue.exchange, eventOf('2'));
  const refused = assert.rejects(doubtful, isDown(/not confirmed within 10000 ms/));
  await until(() => scene.clock.pending > 0);
  await scene.clock.advance(10_000);
  await refused;
  assert.equal(scene.bus.health().isUp, false);
  scene.proxy.cut();
  scene.proxy.pass();
  await scene.bus.publish(scene.queue.exchange, eventOf('2'));
  assert.equal(scene.bus.health().isUp, true);
  assert.deepEqual(
    (await inbox.first(2)).map(({ event }) => event.id),
    ['1', '2'],
  );
});

test('H-25 a publisher whose link is cut fails at once, and so does one that nobody answers', async () => {
  await using scene = await Scene.open({ connectTimeoutMs: 1_000 });
  await scene.bus.publish(scene.queue.exchange, eventOf('1'));
  scene.proxy.stall();
  const cut = assert.rejects(scene.bus.publish(scene.queue.exchange, eventOf('2')), isDown(/./));
  scene.proxy.cut();
  await cut;
  await assert.rejects(scene.bus.publish(scene.queue.exchange, eventOf('3')), isDown(/timed out/));
  scene.proxy.refuse();
  await assert.rejects(scene.bus.publish(scene.queue.exchange, eventOf('4')), isDown(/./));
  scene.proxy.pass();
  await scene.bus.publish(scene.queue.exchange, eventOf('5'));
});

function isDown(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof BusError && error.code === 'down' && message.test(error.message);
}

test('H-25 a queue that is removed under its consumer is a loss, and is made again', async () => {
  await using scene = await Scene.open();
  const live = scene.becomes('live');
  const subscriber = scene.subscriber();
  await live;
  const down = scene.becomes('down');
  await withChannel(service.url, (channel) => channel.queueDelete({ queue: scene.queue.durable }));
  await down;
  const again = scene.becomes('live');
  await scene.clock.advance(1_000);
  await again;
  await scene.post('1');
  await scene.handled.first(1);
  await subscriber.stop();
});

test('H-o what others have published as no JSON at all becomes a dead letter', async () => {
  await using scene = await Scene.open();
  const inbox = new Inbox();
  await scene.bus.subscribe(scene.queue, inbox.receive);
  const { exchange, durable } = scene.queue;
  await withChannel(service.url, async (channel) => {
    await channel.confirmSelect();
    const odd = { exchange, routingKey: 'tarea.crear', headers: { a: { b: 1 }, n: 7 } };
    await channel.basicPublish({ ...odd, contentType: 'application/json' }, Buffer.from('{"id":'));
    await channel.basicPublish(odd, Buffer.from([0xff, 0xfe]));
    await channel.basicPublish(odd, { id: 1 });
    await channel.basicPublish(odd, '');
  });
  await scene.bus.publish(exchange, eventOf('1'));
  await one(inbox);
  await until(() => scene.bus.health().deadLettered === 4);
  const keys: string[] = [];
  await scene.bus.reviewDead(durable, ({ message, reason }) => {
    keys.push(message.routingKey);
    assert.match(reason, /^undecodable: /);
    return 'drop';
  });
  assert.deepEqual(
    keys,
    Array.from({ length: 4 }, () => 'tarea.crear'),
  );
});

test('B-099 neither a wrong password nor a wrong URL is repeated in the error', async () => {
  const url = new URL(service.url);
  url.password = 'marked-secret';
  const bus = createRabbitBus({ url: url.href });
  const noSecret = (error: unknown): boolean =>
    error instanceof BusError &&
    !JSON.stringify([error.message, String(error.cause)]).includes('marked');
  await assert.rejects(bus.publish('any', eventOf('1')), noSecret);
  await assert.rejects(bus.publish('any', eventOf('2')), { message: /^RabbitMQ: ACCESS_REFUSED/ });
  await bus.close();
  assert.throws(() => createRabbitBus({ url: 'http://u:marked-secret@h' }), noSecret);
  assert.throws(() => createRabbitBus({ url: 'marked-secret' }), noSecret);
});

test('H-39 an exchange that the broker refuses is no outage: the others’ events pass', async () => {
  const bus = createRabbitBus({ url: service.url });
  const exchange = `capataz-test.${systemRandom.id()}`;
  try {
    for (let round = 0; round < 3; round += 1) {
      const [refused, taken] = await Promise.allSettled([
        bus.publish('amq.capataz', eventOf(`r${round}`)),
        bus.publish(exchange, eventOf(`t${round}`)),
      ]);
      assert.equal(taken.status, 'fulfilled');
      assert.ok(refused.status === 'rejected' && refused.reason instanceof BusError);
      assert.equal(refused.reason.code, 'invalid');
    }
  } finally {
    await bus.close();
    await removeFromRabbit(service.url, { exchanges: [exchange], durables: [] });
  }
});

test('H-33 messages carry the headers, are persistent, and have the name as routing key and type', async () => {
  await using scene = await Scene.open();
  await scene.direct.declare(scene.queue);
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await scene.direct.publish(scene.queue.exchange, eventOf('e-1', { trace }));
  const raw = await withChannel(service.url, (channel) => channel.basicGet(scene.queue.durable));
  // The broker's own count, which some versions begin with the first hand-out.
  const { 'x-delivery-count': _count, ...headers } = raw?.headers ?? {};
  assert.deepEqual(headers, {
    'x-correlation-id': 'c-1',
    traceparent: trace,
    event_type: 'tarea.crear',
    aggregate_id: 'job-1',
    event_id: 'e-1',
  });
  assert.equal(raw?.durable, true);
  assert.deepEqual(
    [raw?.routingKey, raw?.type, raw?.messageId],
    ['tarea.crear', 'tarea.crear', 'e-1'],
  );
});

/** The contract of the coding tasks: `{ metadata, payload }`, the name in the headers or the payload. */
const tareasCodec: BusCodec = {
  encode: (event) => ({
    routingKey: event.name,
    headers: eventHeaders(event),
    body: JSON.stringify({
      metadata: {
        taskId: event.job,
        traceId: event.id,
        timestamp: new Date(event.time).toISOString(),
        originator: event.originator,
      },
      payload: event.payload,
    }),
  }),
  decode({ body, routingKey, headers }) {
    const { metadata, payload } = JSON.parse(body);
    const { taskId: job, traceId: id, timestamp, originator } = metadata;
    const name = String(payload.nombreEvento ?? headers.event_type ?? routingKey);
    const base = { id, job, originator, name, payload, sequence: 0, trace: null };
    return { ok: true, event: { ...base, time: Date.parse(timestamp), correlationId: job } };
  },
};

test('C-25 an application brings its own envelope, also for what its peers publish in theirs', async () => {
  await using scene = await Scene.open({ codec: tareasCodec });
  const inbox = new Inbox();
  await scene.bus.subscribe(scene.queue, inbox.receive);
  const { exchange } = scene.queue;
  await scene.bus.publish(exchange, eventOf('1'));
  const timestamp = '2026-01-01T12:00:00.000Z';
  const metadata = { taskId: 't-1', traceId: 'tr-1', timestamp, originator: 'smith' };
  const payload = { nombreEvento: 'resultado.pr_generada', pullRequestUrl: 'https://host/pr/1' };
  await withChannel(service.url, async (channel) => {
    await channel.confirmSelect();
    await channel.basicPublish({ exchange, routingKey: 'x' }, { metadata, payload });
  });
  const [ours, theirs] = (await inbox.first(2)).map(({ event }) => event);
  assert.deepEqual(ours, eventOf('1', { sequence: 0, correlationId: 'job-1' }));
  assert.deepEqual(
    [theirs?.id, theirs?.job, theirs?.name, theirs?.time],
    ['tr-1', 't-1', 'resultado.pr_generada', Date.parse(timestamp)],
  );
});
