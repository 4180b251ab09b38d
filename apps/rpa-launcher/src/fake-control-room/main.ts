/**
 * The fake Control Room as a process of its own: `main.ts [--port N] [--devices N] [--robots N]
 * [--world FILE]`. Prints one line, `fake control room on http://…`, when it is ready.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from 'capataz/server';
import { httpTransport } from '../control-room/transport.ts';
import { FakeControlRoom } from './fake-control-room.ts';
import { serveFake } from './http-server.ts';
import type { SendCallback } from './runs.ts';
import { type FakeWorld, worldOf } from './world.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    devices: { type: 'string', default: '10' },
    robots: { type: 'string', default: '10' },
    world: { type: 'string' },
  },
});

const clock = systemClock;
const transport = httpTransport({ clock });

const sendCallback: SendCallback = async ({ url, headers }, body) => {
  try {
    const own = { 'content-type': 'application/json', ...headers };
    return (await transport.call({ url, headers: own, body, timeoutMs: 10_000 })).status;
  } catch {
    return 0;
  }
};

const world: FakeWorld =
  values.world === undefined
    ? worldOf({ devices: Number(values.devices), robots: Number(values.robots) })
    : JSON.parse(readFileSync(values.world, 'utf8'));
const fake = new FakeControlRoom(world, {
  clock,
  newId: randomUUID,
  random: () => randomInt(2 ** 32) / 2 ** 32,
  sendCallback,
});
const server = await serveFake(fake, { clock, port: Number(values.port) });
process.stdout.write(`fake control room on ${server.url}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    fake.close();
    Promise.all([server.close(), transport.close()]).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
