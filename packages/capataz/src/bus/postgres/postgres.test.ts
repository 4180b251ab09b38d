import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { systemRandom } from '../../std/random.ts';
import { busSuite } from '../../testing/bus-suite.ts';
import { eventOf, Inbox, letters, numbered, one } from '../../testing/bus-suite-kit.ts';
import { postgresService } from '../../testing/postgres-service.ts';
import { until } from '../../testing/until.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { type Bus, BusError } from '../contract.ts';
import { pickyCodec } from '../fixtures/picky-codec.ts';
import { TcpProxy } from '../fixtures/tcp-proxy.ts';
import {
  busSource,
  createSubscriber,
  type Subscriber,
  type SubscriberStatus,
} from '../subscriber.ts';
import { PostgresRoom } from './fixtures/postgres-room.ts';
import { readMigrations } from './link.ts';
import { createPostgresBus, type PostgresBusOptions } from './postgres-bus.ts';

const service = await postgresService();
const shared = new PostgresRoom(service.url);
after(async () => {
  await shared[Symbol.asyncDispose]();
  await service.close();
});

busSuite('PostgreSQL', async () => {
  const buses: Bus[] = [];
  const another = (): Bus => {
    const bus = createPostgresBus({ url: shared.url, codec: pickyCodec });
    buses.push(bus);
    return bus;
  };
  return {
    bus: another(),
    prefix: systemRandom.id(),
    another,
    close: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
    },
  };
});

/** A bus behind a proxy, one that has the server to itself, and a schema that is dropped afterwards. */
class Scene implements AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly room = new PostgresRoom(service.url);
  readonly bus: Bus;
  readonly direct: Bus;
  readonly queue = { durable: 'smith', exchange: 'topico.tareas', patterns: ['#'] };
  readonly clock = new VirtualClock();
  readonly handled = new Inbox();
  /** As the server shows the connection on which the subscriber listens. */
  readonly listener: string;
  readonly #statuses = new Map<SubscriberStatus, () => void>();

  private constructor(proxy: TcpProxy, options: Partial<PostgresBusOptions>) {
    this.proxy = proxy;
    const url = new URL(service.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const name = this.room.schema.slice(-20);
    this.listener = `${name} smith`;
    const address = this.room.reachedBy(url.href);
    this.bus = createPostgresBus({ url: address, name, clock: this.clock, ...options });
    this.direct = createPostgresBus({ url: this.room.url, name: 'direct' });
  }

  static async open(options: Partial<PostgresBusOptions> = {}): Promise<Scene> {
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

  /** A subscriber that is live. */
  async liveSubscriber() {
    const live = this.becomes('live');
    const subscriber = this.subscriber();
    await live;
    return subscriber;
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
    await this.room[Symbol.asyncDispose]();
  }
}

test('B-076 a listening connection that the server ends is replaced, and health says so meanwhile', async () => {
  await using scene = await Scene.open();
  const subscriber = await scene.liveSubscriber();
  await scene.post('1');
  await scene.handled.first(1);
  const down = scene.becomes('down');
  await scene.room.terminate(scene.listener);
  await down;
  assert.match(subscriber.health().lastError ?? '', /terminating connection/);
  await scene.post('2');
  const again = scene.becomes('live');
  await scene.clock.advance(1_000);
  await again;
  await scene.post('3');
  await scene.handled.first(3);
  assert.deepEqual(scene.handled.ids, numbered(3));
  await subscriber.stop();
});

test('B-076 a listening connection in a black hole is noticed within 8 s, and events flow again over another', async () => {
  await using scene = await Scene.open();
  const subscriber = await scene.liveSubscriber();
  await scene.post('1');
  await scene.handled.first(1);
  const down = scene.becomes('down');
  scene.proxy.strand();
  await scene.post('2');
  await scene.clock.advance(3_000);
  await scene.clock.advance(5_000);
  await down;
  assert.match(subscriber.health().lastError ?? '', /did not answer within 5000 ms/);
  const again = scene.becomes('live');
  await scene.clock.advance(1_000);
  await again;
  await scene.post('3');
  await scene.handled.first(3);
  assert.deepEqual(scene.handled.ids, numbered(3));
  await subscriber.stop();
});

test('B-076 what no notice was given of is found by the next look', async () => {
  await using scene = await Scene.open();
  const inbox = new Inbox();
  await scene.bus.subscribe(scene.queue, inbox.receive);
  await scene.direct.publish(scene.queue.exchange, eventOf('1'));
  await inbox.first(1);
  // As one whose notice got lost.
  await scene.room.rows(
    'INSERT INTO entries (name, routing_key, headers, body) SELECT name, routing_key, headers, body FROM entries',
  );
  await scene.clock.advance(3_000);
  assert.equal((await one(inbox, 2)).event.id, '1');
});

test('H-n H-31 H-26 what was sent while connections are refused is read from the stored events, in order', async () => {
  await using scene = await Scene.open();
  const subscriber = await scene.liveSubscriber();
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
  await Promise.all(numbered(100).map((id) => scene.post(id)));
  scene.proxy.pass();
  await scene.clock.advance(8_000);
  await scene.handled.first(100);
  assert.deepEqual(scene.handled.ids, numbered(100));
  await subscriber.stop();
});

test('H-n two instances: what one held when its link was lost is handed out again, at once to its successor', async () => {
  await using scene = await Scene.open();
  const [lost, next] = [new Inbox(), new Inbox()];
  const subscription = await scene.bus.subscribe({ ...scene.queue, prefetch: 3 }, lost.receive);
  for (const id of numbered(4)) await scene.post(id);
  await lost.first(3);
  scene.proxy.cut();
  assert.ok((await subscription.ended) instanceof BusError);
  for (const delivery of lost.all) delivery.ack();
  await scene.bus.subscribe(scene.queue, next.receive);
  const again = await next.first(4);
  assert.deepEqual(
    again.map(({ event, deliveries }) => [event.id, deliveries]),
    [
      ['1', 2],
      ['2', 2],
      ['3', 2],
      ['4', 1],
    ],
  );
});

test('H-n two instances: what a silent one holds comes back when its lease runs out, and it is told', async () => {
  await using scene = await Scene.open();
  const [silent, other] = [new Inbox(), new Inbox()];
  // The server's time passes, this one's does not: it renews nothing.
  const frozen = await scene.bus.subscribe(scene.queue, silent.receive);
  await scene.post('1');
  await silent.first(1);
  await scene.room.rows("UPDATE consumers SET lease_until = clock_timestamp() - interval '1 s'");
  await scene.direct.subscribe(scene.queue, other.receive);
  const { deliveries, ack } = await one(other);
  assert.equal(deliveries, 2);
  silent.all[0]?.ack();
  await scene.clock.advance(3_000);
  assert.match((await frozen.ended)?.message ?? '', /the lease on what was held ran out/);
  ack();
  await until(async () => (await scene.room.rows('SELECT FROM entries')).length === 0);
  assert.deepEqual(await scene.room.rows('SELECT length FROM names'), [{ length: '0' }]);
});

test('H-n two instances share the events of one name, each of them once', async () => {
  await using scene = await Scene.open();
  const inboxes = [new Inbox(), new Inbox()];
  const buses = [scene.bus, scene.direct];
  await Promise.all(
    inboxes.map((inbox, index) =>
      buses[index]?.subscribe({ ...scene.queue, prefetch: 5 }, (delivery) => {
        inbox.receive(delivery);
        delivery.ack();
      }),
    ),
  );
  await Promise.all(numbered(500).map((id) => scene.post(id)));
  const all = (): string[] => inboxes.flatMap(({ ids }) => ids);
  await until(() => all().length >= 500);
  assert.deepEqual(all().toSorted(), numbered(500).toSorted());
  for (const { ids } of inboxes) {
    assert.ok(ids.length > 0);
    assert.deepEqual(
      ids,
      ids.toSorted((one, other) => Number(one) - Number(other)),
    );
  }
  await until(async () => (await scene.room.rows('SELECT FROM entries')).length === 0);
});

test('H-n H-x two instances: whichever connections are ended, every name gets every event, and nothing is left', async () => {
  await using room = new PostgresRoom(service.url);
  const name = room.schema.slice(-20);
  const buses = ['one', 'two'].map((which) =>
    createPostgresBus({ url: room.url, name: `${name} ${which}` }),
  );
  await using closing = new AsyncDisposableStack();
  for (const bus of buses) closing.defer(() => bus.close());
  const exchange = 'topico.tareas';
  const heard = new Map(['a', 'b'].map((durable) => [durable, new Set<string>()]));
  const subscribers: Subscriber[] = [];
  closing.defer(async () => {
    await Promise.all(subscribers.map((subscriber) => subscriber.stop()));
  });
  for (const bus of buses) {
    for (const [durable, ids] of heard) {
      const queue = { durable, exchange, patterns: ['#'] };
      await bus.declare(queue);
      const reconnect = { initialDelayMs: 10, maxDelayMs: 50 };
      const handle = ({ id }: { id: string }): void => void ids.add(id);
      subscribers.push(
        createSubscriber({ name: durable, source: busSource(bus, queue), reconnect, handle }),
      );
    }
  }
  const victims = ['one publisher', 'two publisher', 'one a', 'two a', 'one b', 'two b'];
  const ids = numbered(1_200);
  for (let done = 0; done < ids.length; done += 50) {
    const ending = room.terminate(`${name} ${victims[(done / 50) % victims.length]}`);
    // As a relay does: again under the same id, until it is confirmed.
    const post = async (id: string): Promise<void> =>
      until(
        () =>
          buses[Number(id) % 2]?.publish(exchange, eventOf(id)).then(
            () => true,
            () => false,
          ) ?? true,
      );
    await Promise.all([ending, ...ids.slice(done, done + 50).map(post)]);
  }
  for (const got of heard.values()) await until(() => got.size === ids.length);
  // Also what was published twice, because its confirmation was lost.
  await until(async () => (await room.rows('SELECT FROM entries')).length === 0);
  await Promise.all(subscribers.map((subscriber) => subscriber.stop()));
  assert.deepEqual(await room.rows('SELECT sum(length) AS length FROM names'), [{ length: '0' }]);
});

test('C-k two instances: a name that another instance declares has what is published from then on', async () => {
  await using scene = await Scene.open();
  await scene.direct.publish(scene.queue.exchange, eventOf('before'));
  for (const durable of ['a', 'b']) {
    await scene.bus.declare({ ...scene.queue, durable });
    await scene.direct.publish(scene.queue.exchange, eventOf(durable));
  }
  const copies = await scene.room.rows(
    'SELECT durable, length FROM names JOIN (SELECT DISTINCT name FROM entries) AS e ON e.name = id ORDER BY id',
  );
  assert.deepEqual(copies, [
    { durable: 'a', length: '2' },
    { durable: 'b', length: '1' },
  ]);
});

test('B-078 one that is refused harms none of those that travel with it', async () => {
  const endless = {
    ...pickyCodec,
    encode: (event: Parameters<typeof pickyCodec.encode>[0]) => {
      const message = pickyCodec.encode(event);
      return event.id === '2' ? { ...message, body: 'a\0b' } : message;
    },
  };
  await using scene = await Scene.open({ codec: endless });
  await scene.bus.declare({ ...scene.queue, maxLength: 3 });
  const outcomes = await Promise.allSettled(
    numbered(5).map((id) => scene.bus.publish(scene.queue.exchange, eventOf(id))),
  );
  const codes = outcomes.map((outcome) =>
    outcome.status === 'fulfilled' ? 'taken' : (outcome.reason as BusError).code,
  );
  assert.deepEqual(codes, ['taken', 'invalid', 'taken', 'taken', 'full']);
});

test('B-078 a notice carries the id of a name and never an event', async () => {
  await using scene = await Scene.open();
  await scene.direct.declare(scene.queue);
  const heard: (string | undefined)[] = [];
  await using listening = await scene.room.listening((payload) => heard.push(payload));
  assert.ok(listening);
  await scene.direct.publish(scene.queue.exchange, eventOf('1', { payload: '🛠'.repeat(5_000) }));
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ['1']);
});

test('H-28 nothing is left at the server of a subscriber that was stopped', async () => {
  await using scene = await Scene.open();
  const subscriber = await scene.liveSubscriber();
  assert.equal(await scene.room.connections(scene.listener), 1);
  await subscriber.stop();
  await until(async () => (await scene.room.connections(scene.listener)) === 0);
  assert.deepEqual(await scene.room.rows('SELECT FROM consumers'), []);
  assert.equal(scene.clock.pending, 0);
});

test('H-x a publisher that gets no confirmation says so, and publishes again over a new link', async () => {
  await using scene = await Scene.open();
  const inbox = new Inbox();
  await scene.direct.subscribe(scene.queue, inbox.receive);
  await scene.bus.publish(scene.queue.exchange, eventOf('1'));
  scene.proxy.stall();
  const doubtful = scene.bus.publish(scene.queue.exchange, eventOf('2'));
  const refused = assert.rejects(doubtful, isDown(/did not answer within 10000 ms/));
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
  await assert.rejects(scene.bus.publish(scene.queue.exchange, eventOf('3')), isDown(/timeout/));
  scene.proxy.refuse();
  await assert.rejects(scene.bus.publish(scene.queue.exchange, eventOf('4')), isDown(/./));
  scene.proxy.pass();
  await scene.bus.publish(scene.queue.exchange, eventOf('5'));
});

function isDown(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof BusError && error.code === 'down' && message.test(error.message);
}

test('H-25 a name that is removed under its consumer is a loss, and is made again; the tables, too', async () => {
  await using scene = await Scene.open();
  const subscriber = await scene.liveSubscriber();
  const remove = [
    "DELETE FROM names WHERE durable = 'smith'",
    `DROP SCHEMA ${scene.room.schema} CASCADE`,
  ];
  for (const [index, statement] of remove.entries()) {
    const down = scene.becomes('down');
    await scene.room.rows(statement);
    await scene.clock.advance(3_000);
    await down;
    const again = scene.becomes('live');
    await scene.clock.advance(2_000);
    await again;
    const id = String(index + 1);
    // The publisher may meet the dropped tables first, and says so.
    await until(() =>
      scene.post(id).then(
        () => true,
        () => false,
      ),
    );
    await scene.handled.first(index + 1);
  }
  await subscriber.stop();
});

test('dead letters outlive the bus that made them', async () => {
  await using scene = await Scene.open();
  const inbox = new Inbox();
  const subscription = await scene.direct.subscribe(scene.queue, inbox.receive);
  await scene.post('1');
  await (await one(inbox)).deadLetter('no\0use');
  await subscription.close();
  assert.deepEqual(await letters(scene.bus, 'smith'), ['1: no\ufffduse']);
});

test('B-099 neither a wrong password nor a wrong URL is repeated in the error', async () => {
  const noSecret = (error: unknown): boolean =>
    error instanceof BusError &&
    !JSON.stringify([error.message, String(error.cause)]).includes('marked');
  const bus = createPostgresBus({ url: 'postgres://nobody:marked-secret@127.0.0.1:1/none' });
  await assert.rejects(bus.publish('any', eventOf('1')), noSecret);
  await bus.close();
  assert.throws(() => createPostgresBus({ url: 'http://u:marked-secret@h' }), noSecret);
  assert.throws(() => createPostgresBus({ url: 'marked-secret' }), noSecret);
  assert.throws(
    () => createPostgresBus({ url: `${service.url}?schema=A` }),
    /names "A", which is no name of a schema/,
  );
});

test('a schema that a newer version broke is refused', async () => {
  await using scene = await Scene.open();
  await scene.direct.declare(scene.queue);
  await scene.room.rows("INSERT INTO migrations VALUES (9999, '9999-other.sql', true)");
  await assert.rejects(scene.bus.declare(scene.queue), {
    code: 'invalid',
    message: /newer version \(migration 9999-other\.sql\)/,
  });
});

test('released migrations never change: their checksums are kept', () => {
  const kept: unknown = JSON.parse(
    readFileSync(new URL('./migrations/checksums.json', import.meta.url), 'utf8'),
  );
  const found = readMigrations().map(({ name, text }) => [
    name,
    createHash('sha256').update(text).digest('hex'),
  ]);
  assert.deepEqual(Object.fromEntries(found), kept);
});
