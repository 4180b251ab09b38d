/** A real broker, which goes away behind a proxy; the engine's time is moved. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Breakers } from '../breaker/breakers.ts';
import { removeFromRabbit } from '../bus/fixtures/rabbit-room.ts';
import { TcpProxy } from '../bus/fixtures/tcp-proxy.ts';
import { type Bus, createRabbitBus } from '../bus/index.ts';
import { startWorld } from '../engine/fixtures.ts';
import type { EventSink } from '../engine/relay.ts';
import { systemRandom } from '../std/random.ts';
import { Inbox } from '../testing/bus-suite-kit.ts';
import { rabbitService } from '../testing/services.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { until } from '../testing/until.ts';
import { busSink, judgeBus } from './bus-sink.ts';

const service = await rabbitService();
after(() => service.close());

const exchange = `capataz-test.${systemRandom.id()}`;
const queue = { durable: `${exchange}.listener`, exchange, patterns: ['#'] };

const speaker = speakingBlueprint(exchange, 'first', 'second');

/** Real calls take real time: the engine's clock stands still until none is under way. */
class Watched implements EventSink {
  inFlight = 0;
  behind: EventSink | null = null;

  async publish(event: Parameters<EventSink['publish']>[0]): Promise<void> {
    assert.ok(this.behind !== null);
    this.inFlight += 1;
    try {
      await this.behind.publish(event);
    } finally {
      this.inFlight -= 1;
    }
  }

  pausedForMs(): number | null {
    return this.behind?.pausedForMs() ?? null;
  }
}

async function begin(bus: Bus) {
  const sink = new Watched();
  const world = await startWorld({ blueprints: [speaker], sink });
  const breakers = new Breakers({ clock: world.clock, judge: judgeBus });
  sink.behind = busSink({ bus, breakers, originator: 'test' });
  const second = async (): Promise<void> => {
    await world.advance(1_000);
    await until(() => sink.inFlight === 0);
  };
  return { world, breakers, second };
}

test('H-31: the broker is away for a minute while jobs emit; all arrives once it is back, in the order of each job', async () => {
  const proxy = await TcpProxy.open(service);
  const url = new URL(service.url);
  url.host = `127.0.0.1:${proxy.port}`;
  const bus = createRabbitBus({ url: url.href });
  const direct = createRabbitBus({ url: service.url });
  const heard = new Inbox();
  try {
    await direct.subscribe(queue, (delivery) => {
      delivery.ack();
      heard.receive(delivery);
    });
    const { world, breakers, second } = await begin(bus);
    proxy.refuse();
    const ids: string[] = [];
    for (let passed = 0; passed < 60; passed += 1) {
      ids.push(await world.create('speaker'));
      await second();
    }
    assert.equal(heard.all.length, 0);
    assert.equal(breakers.get('bus').state, 'open');
    assert.equal((await world.truth.counts()).outbox, 120);
    proxy.pass();
    while ((await world.truth.counts()).outbox > 0) await second();
    await heard.first(120);
    assert.equal(breakers.get('bus').state, 'closed');
    const namesOf = (id: string): string[] =>
      heard.all.filter(({ event }) => event.job === id).map(({ event }) => event.name);
    for (const id of ids) assert.deepEqual(namesOf(id), ['first', 'second']);
  } finally {
    await Promise.all([bus.close(), direct.close()]);
    await proxy.close();
    await removeFromRabbit(service.url, { exchanges: [exchange], durables: [queue.durable] });
  }
});
