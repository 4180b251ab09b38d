/** The fake Control Room as a process of its own: `main.ts --help` says how. */
import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from 'capataz/server';
import { httpTransport } from '../control-room/transport.ts';
import { FakeControlRoom } from './fake-control-room.ts';
import { serveFake } from './http-server.ts';
import type { SendCallback } from './runs.ts';
import { type FakeWorld, worldOf } from './world.ts';

const usage = `usage: main.ts [options]
A fake Control Room. Prints one line, \`fake control room on http://…\`, when it is ready.

  --port N      where it listens; 0 takes a free port. Default 0
  --devices N   RPA-PC-001 and so on, each with a run-as user of its own. Default 10
  --robots N    P001_Robot and so on, which run for a minute each. Default 10
  --world FILE  in their place a world of JSON, as world.ts describes it
`;

interface Words {
  readonly port: number;
  readonly world: FakeWorld;
}

/** Null: only the usage is wanted. */
function words(): Words | null {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      devices: { type: 'string', default: '10' },
      robots: { type: 'string', default: '10' },
      world: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const count = (name: 'port' | 'devices' | 'robots', most: number): number => {
    const number = Number(values[name]);
    if (/^\d+$/.test(values[name]) && number <= most) return number;
    throw new Error(`--${name}: must be a whole number from 0 to ${most}`);
  };
  const port = count('port', 65_535);
  if (values.world === undefined)
    return {
      port,
      world: worldOf({ devices: count('devices', 999), robots: count('robots', 999) }),
    };
  try {
    return { port, world: JSON.parse(readFileSync(values.world, 'utf8')) };
  } catch (error) {
    throw new Error(`--world: ${values.world}: ${error instanceof Error ? error.message : error}`);
  }
}

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

async function run({ port, world }: Words): Promise<void> {
  const fake = new FakeControlRoom(world, {
    clock,
    newId: randomUUID,
    random: () => randomInt(2 ** 32) / 2 ** 32,
    sendCallback,
  });
  const server = await serveFake(fake, { clock, port });
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
}

try {
  const given = words();
  if (given === null) process.stdout.write(usage);
  else await run(given);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}
