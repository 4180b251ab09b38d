import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment } from '../config/environment.ts';
import { type Clock, delay, systemClock } from '../std/clock.ts';

/** A server that tests use. Whoever asked for it closes it. */
export interface TestService {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Debian's own script would change the user and the place; this one does as it is told. */
const rabbitServer = '/usr/lib/rabbitmq/bin/rabbitmq-server';
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;
const pollMs = 250;

/**
 * The broker of CAPATAZ_TEST_RABBITMQ, else the one on 127.0.0.1:5672, else one that is started with
 * ports and a folder of its own. Never a reason to skip: where there is none it says what to install.
 */
export async function rabbitService(): Promise<TestService> {
  const given = processEnvironment().CAPATAZ_TEST_RABBITMQ;
  const url = given ?? 'amqp://guest:guest@127.0.0.1:5672';
  const { hostname: host, port: portText } = new URL(url);
  const port = Number(portText === '' ? 5672 : portText);
  if (await answers(host, port)) return { url, host, port, close: async () => undefined };
  if (given !== undefined)
    throw new Error(`CAPATAZ_TEST_RABBITMQ: ${host}:${port} does not answer`);
  if (existsSync(rabbitServer)) return startRabbit(systemClock);
  throw new Error(
    'these tests need RabbitMQ: install it (Debian: apt-get install rabbitmq-server), ' +
      'or name one by CAPATAZ_TEST_RABBITMQ=amqp://user:password@host:port',
  );
}

/** Resolves whether somebody listens there. */
export function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).then((isListening) => {
    socket.destroy();
    return isListening === true;
  });
}

async function startRabbit(clock: Clock): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-rabbit-'));
  const [port = 0, distributionPort = 0, epmdPort = 0] = await freePorts(3);
  const env = {
    ...processEnvironment(),
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_NODENAME: `capataz-${port}@localhost`,
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
  };
  // Erlang would start this one by itself, as a daemon that outlives everything.
  const epmd = spawn('epmd', ['-port', String(epmdPort)], {
    env,
    stdio: 'ignore',
    detached: true,
  });
  const server = spawn(rabbitServer, [], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const close = async (): Promise<void> => {
    await end(server, clock);
    await end(epmd, clock);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await whenUp('RabbitMQ', { server, port, clock });
  } catch (error) {
    await close();
    throw error;
  }
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  return { url, host: '127.0.0.1', port, close };
}

/** @throws Error with what the server said, where it does not come up. */
export async function whenUp(
  what: string,
  start: {
    readonly server: ChildProcess;
    readonly port: number;
    readonly clock: Clock;
  },
): Promise<void> {
  const { server, port, clock } = start;
  let problems = '';
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    problems += text;
  });
  const giveUpAt = clock.steady() + startTimeoutMs;
  while (!(await answers('127.0.0.1', port))) {
    const isOver = server.exitCode !== null || clock.steady() > giveUpAt;
    if (isOver) throw new Error(`a ${what} for the tests did not start: ${problems}`);
    await delay(clock, pollMs);
  }
}

/** Erlang ends by itself on SIGTERM; after a while the whole group is killed. */
async function end(child: ChildProcess, clock: Clock): Promise<void> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const cancel = clock.after(stopTimeoutMs, () => process.kill(-pid, 'SIGKILL'));
  child.kill('SIGTERM');
  await exited;
  cancel();
}

/** Ports that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
