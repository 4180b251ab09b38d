/** The client and the fake over real sockets, and the fake as a process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLog, systemClock } from 'capataz/server';
import { until, VirtualClock } from 'capataz/testing';
import { createControlRoom } from '../control-room/client.ts';
import { fakeOn, orderOf, userOf, usual } from '../control-room/fixtures/room.ts';
import { httpTransport } from '../control-room/transport.ts';
import { adminAnswer } from './admin.ts';
import { type FakeServer, serveFake } from './http-server.ts';
import { launcherUser, worldOf } from './world.ts';

const world = worldOf({ devices: 3, robots: 3, script: { pendingMs: 0, durationMs: 50 } });

function clientOf(url: string, timeoutMs = 10_000) {
  const clock = systemClock;
  return createControlRoom({
    ...usual,
    url,
    credentials: { ...userOf(), apiKey: launcherUser.apiKey },
    transport: httpTransport({ clock }),
    clock,
    log: createLog({ to: { write: () => {} } }),
    timeoutMs,
  });
}

async function served<T>(act: (server: FakeServer, fake: ReturnType<typeof fakeOn>) => Promise<T>) {
  const fake = fakeOn(new VirtualClock(), world);
  const server = await serveFake(fake, { clock: systemClock });
  try {
    return await act(server, fake);
  } finally {
    await server.close();
  }
}

test('S-84: over sockets, too, a run that was accepted and whose answer was dropped is ambiguous, and a refused connection is not', async () => {
  await served(async (server, fake) => {
    const controlRoom = clientOf(server.url);
    for (const fault of [{ reset: 'after' }, { garbles: true }, { status: 503 }] as const) {
      fake.faults.clear();
      fake.faults.add({ endpoint: 'deploy', ...fault });
      assert.equal((await controlRoom.deploy(orderOf())).outcome, 'ambiguous');
    }
    assert.equal(fake.runs.length, 2);
    fake.faults.clear();
    assert.equal((await controlRoom.deploy(orderOf())).outcome, 'accepted');
    assert.equal((await controlRoom.devices()).length, 3);
    await server.close();
    // The first call may still go out on a connection whose end has not been noticed.
    await until(async () => (await controlRoom.deploy(orderOf())).outcome === 'unsent');
    await controlRoom.close();
  });
});

test('S-84: an answer that does not come within the time-out leaves open what happened', async () => {
  await served(async (server, fake) => {
    const controlRoom = clientOf(server.url, 300);
    await controlRoom.devices();
    // The server's own clock is what waits: the virtual one of the fake stands still.
    fake.faults.add({ endpoint: 'deploy', answerDelayMs: 1 });
    assert.partialDeepStrictEqual(await controlRoom.deploy(orderOf()), {
      outcome: 'ambiguous',
      message: 'no answer within 300 ms',
    });
    assert.equal(fake.runs.length, 1);
    await controlRoom.close();
  });
});

test('L-23: what goes over the wire is a POST of JSON with the token in its own header', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const transport = httpTransport({ clock: systemClock });
  const call = { url: `http://127.0.0.1:${port}/v4/x?y=1`, headers: { 'X-Authorization': 't' } };
  await assert.rejects(transport.call({ ...call, body: '{}', timeoutMs: 10_000 }), {
    name: 'TransportError',
    isSent: true,
  });
  assert.match(await promise, /^POST \/v4\/x\?y=1 HTTP\/1\.1\r\n[\s\S]*x-authorization: t\r\n/i);
  server.close();
  await transport.close();
});

test('the fake runs as a process of its own, which counts what really ran and is told what goes wrong', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const args = ['--conditions=capataz-source', main, '--devices', '2', '--robots', '2'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await once(child.stdout, 'data');
    const url = /on (http:\S+)/.exec(String(line))?.[1] ?? '';
    const tell = (path: string, body: object) =>
      fetch(`${url}/_fake/${path}`, { method: 'POST', body: JSON.stringify(body) });
    await tell('robots', { ...world.robots[0], script: { pendingMs: 0, durationMs: 20 } });
    await tell('faults', { endpoint: 'deploy', times: 1, reset: 'after' });
    const controlRoom = clientOf(url);
    assert.equal((await controlRoom.deploy(orderOf())).outcome, 'ambiguous');
    await until(async () => {
      const runs = await (await fetch(`${url}/_fake/runs`)).json();
      assert.ok(Array.isArray(runs));
      return runs.length === 1 && runs[0]?.status === 'COMPLETED';
    });
    const counts = await (await fetch(`${url}/_fake/counts`)).json();
    assert.partialDeepStrictEqual(counts, { deploy: { calls: 1, mostAtOnce: 1 } });
    await controlRoom.close();
  } finally {
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  }
});

test('the fake says in a sentence what is wrong with its words, and with what it is told', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  for (const [args, message] of [
    [['--devices', 'x'], /--devices: must be a whole number/],
    [['--world', 'none.json'], /--world: none\.json: ENOENT/],
    [['--nope'], /Unknown option '--nope'/],
  ] as const) {
    const child = spawn(process.execPath, ['--conditions=capataz-source', main, ...args]);
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 2);
    assert.match(said, message);
    assert.match(said, /usage: main\.ts/);
  }
  const fake = fakeOn(new VirtualClock(), world);
  const post = (name: string, body: string) =>
    adminAnswer(fake, { method: 'POST', path: `/_fake/${name}`, body });
  assert.equal(post('faults', '{bad').status, 400);
  assert.match(JSON.stringify(post('faults', '{"endpoint":"deplo"}')), /must be one of login/);
  assert.match(JSON.stringify(post('fault', '{}')), /there is no .*_fake.fault/);
});
