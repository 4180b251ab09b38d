import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createWorker, httpTransport, TransportError } from 'capataz/worker';
import type { ResultsBody } from '../protocol/worker-api.ts';

interface Seen {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (seen: Seen, response: ServerResponse) => void;

async function listen(answer: Answer): Promise<{ url: string; server: Server; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, server, seen };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const { signal } = new AbortController();

test('requests carry token, worker and version, and a path before ours is kept', async () => {
  const { url, server, seen } = await listen((_, response) => json(response, 200, { tasks: [] }));
  const transport = httpTransport({ url: `${url}/behind/`, token: 'secret', workerId: 'w1' });
  assert.deepEqual(await transport.poll({ max: 3, timeoutSeconds: 30 }, signal), []);
  assert.equal(seen[0]?.path, '/behind/_worker/workers/w1/tasks/next?max=3&timeout=30');
  assert.equal(seen[0]?.headers['x-worker-token'], 'secret');
  assert.equal(seen[0]?.headers['x-worker-id'], 'w1');
  assert.equal(seen[0]?.headers['x-rxon-version'], '1.0b14');
  transport.close();
  server.close();
});

test('an empty poll, a refusal, a broken answer and no answer are told apart', async () => {
  const answers: Answer[] = [
    (_, response) => response.writeHead(204).end(),
    (_, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end('{"error":"slow down","code":"LIMIT"}'),
    (_, response) => response.writeHead(200).end('<html>'),
    (_, response) => response.destroy(),
  ];
  const { url, server } = await listen((seen, response) => answers.shift()?.(seen, response));
  const transport = httpTransport({ url, workerId: 'w1' });
  const poll = () => transport.poll({ max: 1, timeoutSeconds: 0 }, signal);
  assert.deepEqual(await poll(), []);
  await assert.rejects(poll(), {
    name: 'TransportError',
    message: 'slow down',
    status: 429,
    retryAfterMs: 7_000,
    code: 'LIMIT',
  });
  await assert.rejects(poll(), { name: 'TransportError', status: null });
  await assert.rejects(poll(), { name: 'TransportError', status: null });
  transport.close();
  server.close();
});

test('a call whose answer is no longer wanted gives its connection up', async () => {
  const reached = Promise.withResolvers<ServerResponse>();
  const { url, server } = await listen((_, response) => reached.resolve(response));
  const transport = httpTransport({ url, workerId: 'w1' });
  const controller = new AbortController();
  const poll = transport.poll({ max: 1, timeoutSeconds: 30 }, controller.signal);
  const response = await reached.promise;
  controller.abort();
  await assert.rejects(poll, TransportError);
  await once(response, 'close');
  transport.close();
  server.close();
});

test('S-40: a worker works against a real server, over few connections', async () => {
  const done = Promise.withResolvers<void>();
  const reported: string[] = [];
  const total = 500;
  let given = 0;
  const sockets = new Set<unknown>();
  const next = (max: number): object[] => {
    const count = Math.min(max, total - given);
    given += count;
    return Array.from({ length: count }, (_, index) => ({
      job_id: `j${given - index}`,
      task_id: `a${given - index}`,
      type: 'double',
      params: { number: given - index },
      priority: 0,
      timestamp: 0,
      tracing_context: {},
    }));
  };
  const { url, server } = await listen(({ method, path = '', body }, response) => {
    sockets.add(response.socket);
    if (path.includes('/tasks/next')) {
      const tasks = next(Number(new URL(path, url).searchParams.get('max')));
      // What is not answered is a poll that waits.
      if (tasks.length > 0) json(response, 200, { tasks });
    } else if (path === '/_worker/tasks/results') {
      const { results, want = 0 } = JSON.parse(body) as ResultsBody;
      for (const { data } of results) reported.push(JSON.stringify(data));
      json(response, 200, {
        results: results.map(() => ({ status: 'accepted', transition: 'success_transition' })),
        tasks: next(want),
      });
      if (reported.length === total) done.resolve();
    } else json(response, 200, { status: method === 'PATCH' ? 'ok' : 'registered' });
  });
  const worker = createWorker({
    url,
    skills: { double: async ({ params }) => ({ doubled: Number(params.number) * 2 }) },
  });
  await worker.start();
  await done.promise;
  assert.equal(new Set(reported).size, total);
  await worker.stop();
  assert.ok(sockets.size <= 8, `${sockets.size} connections`);
  const closed = once(server, 'close');
  server.close();
  await closed;
});

test('a heartbeat has a connection of its own while a slow server holds every post', async () => {
  const beaten = Promise.withResolvers<void>();
  const held: (() => void)[] = [];
  let isSlow = true;
  let given = 0;
  const { url, server } = await listen(({ method, path = '', body }, response) => {
    if (path.includes('/tasks/next')) {
      if (given > 0) return;
      given = 150;
      json(response, 200, { tasks: Array.from({ length: given }, (_, index) => taskOf(index)) });
    } else if (path === '/_worker/tasks/results') {
      const { results } = JSON.parse(body) as ResultsBody;
      const accepted = results.map(() => ({
        status: 'accepted',
        transition: 'success_transition',
      }));
      const answer = (): void => json(response, 200, { results: accepted, tasks: [] });
      if (isSlow) held.push(answer);
      else answer();
    } else {
      // Three posts and a poll are under way, and none of them is answered.
      if (method === 'PATCH' && held.length >= 3) beaten.resolve();
      json(response, 200, { status: method === 'PATCH' ? 'ok' : 'registered' });
    }
  });
  const worker = createWorker({
    url,
    id: 'w',
    concurrency: 300,
    heartbeat: '100ms',
    skills: {
      // In three waves, so that there is something for three posts.
      slow: ({ params }) => {
        const number = Number(params.number);
        if (number === 0) return null;
        if (number < 70) return Promise.resolve();
        return new Promise<void>((resolve) => setImmediate(resolve));
      },
    },
  });
  await worker.start();
  await beaten.promise;
  isSlow = false;
  for (const answer of held) answer();
  await worker.stop();
  server.closeAllConnections();
  server.close();
});

function taskOf(number: number): object {
  return {
    job_id: `j${number}`,
    task_id: `a${number}`,
    type: 'slow',
    params: { number },
    priority: 0,
    timestamp: 0,
    tracing_context: {},
  };
}
