/** A real server, and the WebSocket that Node and browsers have. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import {
  type SocketMessage,
  type SocketRequest,
  socketClosings,
} from '../protocol/client-socket.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { until } from '../testing/until.ts';
import { heartbeatMs } from './event-stream.ts';

const blueprints = [echoBlueprint];
const clients = ['acme', 'other'].map((name) => ({ name, token: `token of ${name}` }));
const access = { clients, workers: null, commonWorkerToken: null };

/** Messages as they come. */
class Talk {
  readonly all: SocketMessage[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener('message', ({ data }) => this.all.push(JSON.parse(String(data))));
    this.closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  }

  static async open(
    { url }: Pick<ServedEngine, 'url'>,
    { token, headers }: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<Talk> {
    const offered = token === undefined ? [] : [`capataz.token.${base64url(token)}`];
    const protocols = ['capataz.v1', ...offered];
    const address = `${url.replace('http:', 'ws:')}/api/v1/socket`;
    const talk = new Talk(new WebSocket(address, { protocols, ...(headers && { headers }) }));
    const isOpen = await new Promise((resolve) => {
      talk.socket.addEventListener('open', () => resolve(true));
      talk.socket.addEventListener('error', () => resolve(false));
    });
    assert.equal(isOpen, true, 'the socket was refused');
    assert.equal(talk.socket.protocol, 'capataz.v1');
    return talk;
  }

  ask(request: SocketRequest): void {
    this.socket.send(JSON.stringify(request));
  }

  of(watch: string): SocketMessage[] {
    return this.all.filter((message) => message.watch === watch);
  }

  async ended(watch: string): Promise<SocketMessage[]> {
    await until(() => this.of(watch).at(-1)?.type === 'end');
    return this.of(watch);
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

async function startJob({ url }: ServedEngine, token?: string): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { 'X-Client-Token': token };
  const { json } = await ask(url, 'POST /api/v1/jobs/echo', { body: {}, headers });
  return (json as { job_id: string }).job_id;
}

function cancel({ url }: ServedEngine, id: string): Promise<unknown> {
  return ask(url, `POST /api/v1/jobs/${id}/cancel`);
}

/** Sequences or positions. */
function afters(messages: readonly SocketMessage[]): (number | undefined)[] {
  return messages.flatMap((message) => ('after' in message ? [message.after] : []));
}

/** What the event stream of a job says, as JSON. */
async function streamed({ url }: ServedEngine, id: string): Promise<unknown[]> {
  const text = await (await fetch(`${url}/api/v1/jobs/${id}/events`)).text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data));
}

test("A-70: two watches on one socket bring what the jobs' event streams do, and end with the jobs", async () => {
  await using served = await serveEngine({ blueprints });
  const talk = await Talk.open(served);
  const ids = [await startJob(served), await startJob(served)];
  for (const [index, job] of ids.entries()) talk.ask({ type: 'watch', watch: `w${index}`, job });
  await until(() => talk.of('w0').length > 0 && talk.of('w1').length > 0);
  for (const [index, id] of ids.entries()) {
    await cancel(served, id);
    const messages = await talk.ended(`w${index}`);
    const entries = messages.filter(({ type }) => type === 'entry');
    assert.deepEqual(
      entries.map((message) => 'data' in message && message.data),
      await streamed(served, id),
    );
    assert.deepEqual(
      afters(entries),
      entries.map((_, place) => place + 1),
    );
  }
  // Its name is free again.
  talk.ask({ type: 'watch', watch: 'w0', job: ids[0] ?? '' });
  await until(() => talk.of('w0').filter(({ type }) => type === 'end').length === 2);
  talk.socket.close();
  assert.equal((await talk.closed).code, 1005);
});

test('a watch goes on behind a position without gaps or repeats, also over all jobs', async () => {
  await using served = await serveEngine({ blueprints });
  const first = await Talk.open(served);
  first.ask({ type: 'watch', watch: 'all' });
  const id = await startJob(served);
  first.ask({ type: 'watch', watch: 'job', job: id.toUpperCase() });
  await until(() => first.of('all').length > 1 && first.of('job').length > 1);
  first.socket.close();
  await first.closed;
  // While nobody listens.
  const later = await startJob(served);
  await cancel(served, id);
  const second = await Talk.open(served);
  const last = (watch: string): number =>
    afters(first.of(watch)).findLast((after) => after !== undefined) ?? 0;
  second.ask({ type: 'watch', watch: 'all', after: last('all') });
  second.ask({ type: 'watch', watch: 'job', job: id, after: last('job') });
  const rest = await second.ended('job');
  await until(() => JSON.stringify(second.of('all').at(-1)).includes('job_cancelled'));
  const whole = await Talk.open(served);
  whole.ask({ type: 'watch', watch: 'all' });
  whole.ask({ type: 'watch', watch: 'job', job: id });
  assert.deepEqual([...first.of('job'), ...rest], await whole.ended('job'));
  const all = [...first.of('all'), ...second.of('all')];
  await until(() => whole.of('all').length >= all.length);
  assert.deepEqual(all, whole.of('all'));
  assert.ok(JSON.stringify(all).includes(later));
});

test('progress comes between the entries, and `unwatch` ends a watch and no other', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served);
  const talk = await Talk.open(served);
  for (const watch of ['a', 'b']) talk.ask({ type: 'watch', watch, job: id });
  await until(() => talk.of('a').length > 0 && talk.of('b').length > 0);
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  const { json } = await ask(served.url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  const { task_id } = json as { task_id: string };
  await ask(served.url, 'POST /_worker/events', {
    headers: { 'X-Worker-ID': 'w1' },
    body: {
      event_type: 'progress',
      target_job_id: id,
      target_task_id: task_id,
      payload: { progress: 0.5, message: 'half' },
    },
  });
  const progress = { type: 'progress', watch: 'b', data: { fraction: 0.5, message: 'half' } };
  await until(() => talk.of('b').some(({ type }) => type === 'progress'));
  assert.deepEqual(
    talk.of('b').find(({ type }) => type === 'progress'),
    progress,
  );
  talk.ask({ type: 'unwatch', watch: 'a' });
  // What is answered in turn says that it was read.
  talk.ask({ type: 'watch', watch: 'mark', job: 'unknown' });
  await until(() => talk.of('mark').length > 0);
  const { length } = talk.of('a');
  await cancel(served, id);
  await talk.ended('b');
  assert.equal(talk.of('a').length, length);
});

test("A-47: another client's job looks unknown, and nothing of it comes with all jobs", async () => {
  await using served = await serveEngine({ blueprints, access });
  const foreign = await startJob(served, 'token of other');
  const talk = await Talk.open(served, { token: 'token of acme' });
  talk.ask({ type: 'watch', watch: 'all' });
  talk.ask({ type: 'watch', watch: 'foreign', job: foreign });
  talk.ask({ type: 'watch', watch: 'unknown', job: 'none' });
  const own = await startJob(served, 'token of acme');
  await until(() => JSON.stringify(talk.of('all')).includes(own));
  const [one, other] = [...talk.of('foreign'), ...talk.of('unknown')];
  assert.ok(one?.type === 'refused' && other?.type === 'refused');
  assert.equal(one.error.code, 'JOB_NOT_FOUND');
  const nameless = (error: object): string => JSON.stringify(error).replaceAll(foreign, 'none');
  assert.equal(nameless(one.error), nameless(other.error));
  assert.ok(!JSON.stringify(talk.of('all')).includes(foreign));
});

test('A-46 A-48: without the right token there is no socket, and a token in the URL is none', async () => {
  await using served = await serveEngine({ blueprints, access });
  const token = 'token of acme';
  await Talk.open(served, { token });
  await Talk.open(served, { headers: { 'X-Client-Token': token } });
  await assert.rejects(Talk.open(served), /refused/);
  await assert.rejects(Talk.open(served, { token: 'wrong' }), /refused/);
  const answers = [
    await upgrade(served, {}),
    await upgrade(served, { 'X-Client-Token': 'wrong' }),
    await upgrade(served, {}, `?token=${encodeURIComponent(token)}`),
    await upgrade(served, { 'X-Client-Token': token }, '?token=x'),
  ];
  assert.deepEqual(
    answers.map((text) => [text.slice(9, 12), text.match(/"code":"(\w+)"/)?.[1]]),
    [
      ['401', 'UNAUTHORIZED'],
      ['401', 'UNAUTHORIZED'],
      ['401', 'UNAUTHORIZED'],
      ['400', 'VALIDATION_FAILED'],
    ],
  );
});

/** A connection that has sent a handshake and does nothing more of its own. */
function handshake(
  { url }: ServedEngine,
  headers: Readonly<Record<string, string>> = {},
  query = '',
): Socket {
  const { host, hostname, port } = new URL(url);
  const all = {
    Host: host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(port), hostname);
  socket.write(`GET /api/v1/socket${query} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
}

async function shakenHands(served: ServedEngine): Promise<Socket> {
  const socket = handshake(served);
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1.1 101 /);
  return socket;
}

/** What the server answers to a handshake. */
async function upgrade(...asked: Parameters<typeof handshake>): Promise<string> {
  const socket = handshake(...asked).setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await until(() => socket.closed || text.startsWith('HTTP/1.1 101'));
  socket.destroy();
  return text;
}

test('a page of another origin is refused in open mode, the own one and no page are not', async () => {
  await using served = await serveEngine({ blueprints, publicUrl: 'https://jobs.example' });
  const status = async (origin?: string): Promise<string> =>
    (await upgrade(served, origin === undefined ? {} : { Origin: origin })).slice(9, 12);
  for (const foreign of [
    'https://evil.example',
    'null',
    'http://127.0.0.1:1',
    `${served.url}.evil`,
  ])
    assert.equal(await status(foreign), '403', foreign);
  assert.equal(await status(served.url), '101');
  assert.equal(await status('https://jobs.example'), '101');
  assert.equal(await status(), '101');
});

test('a wish for another protocol, or for a socket elsewhere, is passed over', async () => {
  await using served = await serveEngine({ blueprints });
  const wish = { Connection: 'Upgrade, HTTP2-Settings, close', Upgrade: 'h2c' };
  assert.match(await upgrade(served, wish), /^HTTP\/1.1 400 .*This route is for a WebSocket/s);
  const elsewhere = { Connection: 'Upgrade, close' };
  assert.match(await upgrade(served, elsewhere, '/elsewhere'), /^HTTP\/1.1 404 /);
});

test('the socket and each watch count as streams: beyond the limit they are refused', async () => {
  await using served = await serveEngine({ blueprints, access, limits: { streamsPerClient: 2 } });
  const talk = await Talk.open(served, { token: 'token of acme' });
  for (const watch of ['first', 'second']) talk.ask({ type: 'watch', watch });
  await until(() => talk.of('second').length > 0);
  const [refused] = talk.of('second');
  assert.ok(refused?.type === 'refused' && refused.error.code === 'LIMIT');
  assert.match(await upgrade(served, { 'X-Client-Token': 'token of acme' }), /^HTTP\/1.1 429 /);
  await Talk.open(served, { token: 'token of other' });
  talk.socket.close();
  await talk.closed;
  await until(async () =>
    (await upgrade(served, { 'X-Client-Token': 'token of acme' })).startsWith('HTTP/1.1 101 '),
  );
});

test('a message that is none closes the socket and says so', async () => {
  await using served = await serveEngine({ blueprints });
  const closings: number[] = [];
  const twice = '{"type":"watch","watch":"a"}';
  const ill = [
    ['{'],
    ['{"type":"watch"}'],
    ['{"type":"watch","watch":"a","after":-1}'],
    [twice, twice],
    [new Uint8Array(3)],
    ['x'.repeat(100_000)],
  ];
  for (const messages of ill) {
    const talk = await Talk.open(served);
    for (const message of messages) talk.socket.send(message);
    closings.push((await talk.closed).code);
  }
  assert.deepEqual(closings, [4400, 4400, 4400, 4400, 1003, 1009]);
});

test('a server that stops closes its sockets and says so', async () => {
  const served = await serveEngine({ blueprints });
  const talk = await Talk.open(served);
  talk.ask({ type: 'watch', watch: 'all' });
  await startJob(served);
  await until(() => talk.all.length > 0);
  await served[Symbol.asyncDispose]();
  const { code, reason } = await talk.closed;
  assert.deepEqual({ code, reason }, socketClosings.stopping);
});

test('a socket that answers pings stays open, one that is silent is closed after two', async () => {
  await using served = await serveEngine({ blueprints, limits: { streams: 2 } });
  const talk = await Talk.open(served);
  const silent = await shakenHands(served);
  const heard: Buffer[] = [];
  silent.on('data', (chunk: Buffer) => heard.push(chunk));
  for (let beat = 0; beat < 4; beat += 1) {
    await served.clock.advance(heartbeatMs);
    // A watch that is answered says that the pong before it was read.
    talk.ask({ type: 'watch', watch: `beat ${beat}`, job: 'none' });
    await until(() => talk.of(`beat ${beat}`).length > 0);
  }
  await until(() => silent.closed || Buffer.concat(heard).includes('no answer to a ping'));
  assert.equal(
    Buffer.concat(heard).readUInt16BE(Buffer.concat(heard).indexOf('no answer') - 2),
    4408,
  );
  await served.clock.advance(2_000);
  await until(() => silent.closed);
  assert.equal(talk.socket.readyState, WebSocket.OPEN);
});

test('a reader that does not read is cut off, whatever it has asked for', async () => {
  const watches = 50;
  await using served = await serveEngine({ blueprints, limits: { streams: watches + 1 } });
  await ask(served.url, 'POST /api/v1/jobs/echo/batch', {
    body: Array.from({ length: 1_000 }, () => ({})),
  });
  const slow = await shakenHands(served);
  slow.pause();
  for (let number = 0; number < watches; number += 1) {
    slow.write(masked(`{"type":"watch","watch":"w${number}"}`));
  }
  await until(async () => (await upgrade(served, {})).startsWith('HTTP/1.1 429 '));
  await until(async () => {
    await served.clock.advance(heartbeatMs);
    return (await upgrade(served, {})).startsWith('HTTP/1.1 101 ');
  });
  slow.destroy();
});

/** A text frame of less than 126 bytes, as a client sends it. */
function masked(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
