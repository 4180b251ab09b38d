/** A server on a real broker. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createRabbitBus } from 'capataz/bus';
import { createServer } from 'capataz/server';
import { removeFromRabbit } from '../bus/fixtures/rabbit-room.ts';
import { systemRandom } from '../std/random.ts';
import { Inbox } from '../testing/bus-suite-kit.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { rabbitService } from '../testing/services.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';

const service = await rabbitService();
after(() => service.close());

const exchange = `capataz-test.${systemRandom.id()}`;
const queue = { durable: `${exchange}.listener`, exchange, patterns: ['#'] };

const speaker = speakingBlueprint(exchange, 'first', 'second');

test('S-47: a configured RabbitMQ takes what jobs emit, also what waited for it; without one a start warns', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-bus-'));
  const direct = createRabbitBus({ url: service.url });
  const heard = new Inbox();
  try {
    await direct.subscribe(queue, (delivery) => {
      delivery.ack();
      heard.receive(delivery);
    });
    const { log, lines } = listeningLog();
    const start = (config: object) =>
      createServer({ blueprints: [speaker], log }).start({
        config: { port: 0, dataDir: folder, ...config },
      });
    const without = await start({});
    await without.client().jobs.start('speaker');
    await without.stop();
    await (await start({})).stop();
    const warnings = lines.filter(({ level }) => level === 'warn');
    assert.deepEqual(
      warnings.map(({ message, fields }) => [message, fields.events]),
      [['events wait for a bus, and none is configured: set bus_url', 2]],
    );
    const server = await start({ busUrl: service.url });
    await server.client().jobs.start('speaker');
    await heard.first(4);
    await server.stop();
  } finally {
    await direct.close();
    await removeFromRabbit(service.url, { exchanges: [exchange], durables: [queue.durable] });
    rmSync(folder, { recursive: true, force: true });
  }
});
