/** A server on a real broker, and on a real database in place of one. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Bus, busSource, createPostgresBus, createRabbitBus } from 'capataz/bus';
import { createServer } from 'capataz/server';
import { removeFromRabbit } from '../bus/fixtures/rabbit-room.ts';
import { PostgresRoom } from '../bus/postgres/fixtures/postgres-room.ts';
import { systemRandom } from '../std/random.ts';
import { Inbox } from '../testing/bus-suite-kit.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { postgresService } from '../testing/postgres-service.ts';
import { rabbitService } from '../testing/services.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { until } from '../testing/until.ts';

const service = await rabbitService();
after(() => service.close());

const exchange = `capataz-test.${systemRandom.id()}`;
const queue = { durable: `${exchange}.listener`, exchange, patterns: ['#'] };

const speaker = speakingBlueprint(exchange, 'first', 'second');

test('S-47: a configured RabbitMQ takes what jobs emit, also what waited for it; without one a start warns', async () => {
  try {
    await emitted({ busUrl: service.url, direct: createRabbitBus({ url: service.url }) });
  } finally {
    await removeFromRabbit(service.url, { exchanges: [exchange], durables: [queue.durable] });
  }
});

test('S-47: so does a configured PostgreSQL', async () => {
  const database = await postgresService();
  const room = new PostgresRoom(database.url);
  try {
    await emitted({ busUrl: room.url, direct: createPostgresBus({ url: room.url }) });
  } finally {
    await room[Symbol.asyncDispose]();
    await database.close();
  }
});

test('S-47: two systems with a prefix each share a broker and hear nothing of each other', async () => {
  const prefixes = [`${systemRandom.id()}.`, `${systemRandom.id()}.`] as const;
  const folders: string[] = [];
  const start = async (busPrefix: string, heard: string[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'capataz-bus-'));
    folders.push(folder);
    return createServer({
      blueprints: [speaker],
      log: listeningLog().log,
      subscriptions: ({ bus }) => [
        { name: 'ear', source: busSource(bus, queue), handle: ({ name }) => void heard.push(name) },
      ],
    }).start({ config: { port: 0, dataDir: folder, busUrl: service.url, busPrefix } });
  };
  try {
    const [mine, theirs]: [string[], string[]] = [[], []];
    const one = await start(prefixes[0], mine);
    const other = await start(prefixes[1], theirs);
    await one.client().jobs.start('speaker');
    await until(() => mine.length === 2);
    await one.stop();
    await other.stop();
    assert.deepEqual([mine, theirs], [['first', 'second'], []]);
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    for (const prefix of prefixes)
      await removeFromRabbit(service.url, {
        exchanges: [`${prefix}${exchange}`],
        durables: [`${prefix}${queue.durable}`],
      });
  }
});

async function emitted({ busUrl, direct }: { busUrl: string; direct: Bus }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-bus-'));
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
    const server = await start({ busUrl });
    await server.client().jobs.start('speaker');
    await heard.first(4);
    await server.stop();
  } finally {
    await direct.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
