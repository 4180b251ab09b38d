import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Task } from '../core/job.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';
import type { ServerContext } from './context.ts';
import { watchDelivery } from './delivery.ts';

const blueprints = [echoBlueprint];

test('closing ends waiting polls with 204 and open streams, then stops listening', async () => {
  await using served = await serveEngine({ blueprints });
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  const poll = ask(served.url, 'GET /_worker/workers/w1/tasks/next');
  await served.calls.reached('poll', 1);
  const stream = await fetch(`${served.url}/api/v1/events`);
  const closed = served.server.close({ drainMs: 60_000 });
  const answer = await poll;
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get('connection'), 'close');
  assert.equal(await stream.text(), '');
  await closed;
  await assert.rejects(ask(served.url, 'GET /_public/health'));
  assert.equal(served.calls.count('connectionDropped'), 0);
});

test('a request that never ends is cut when the drain is over', async () => {
  await using served = await serveEngine({ blueprints });
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
  socket.write(
    'POST /api/v1/jobs/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Type: application/json\r\n\r\n{',
  );
  // The server has read it once it answers what came behind it on another connection.
  await ask(served.url, 'GET /_public/health');
  const closed = served.server.close({ drainMs: 5_000 });
  const cut = once(socket, 'close');
  socket.on('error', () => {});
  socket.resume();
  await served.clock.advance(5_000);
  await closed;
  await cut;
});

interface FakeResponse extends EventEmitter {
  destroyed: boolean;
}

function fakeDelivery(): { calls: string[]; context: ServerContext; response: FakeResponse } {
  const calls: string[] = [];
  const workers = {
    delivered: () => calls.push('delivered'),
    undelivered: async () => calls.push('undelivered'),
  };
  return {
    calls,
    // Only these two parts are used.
    context: { engine: { workers } } as unknown as ServerContext,
    response: Object.assign(new EventEmitter(), { destroyed: false }),
  };
}

// Nothing looks into it here.
const tasks = [{} as Task];

function watch(context: ServerContext, response: FakeResponse): boolean {
  return watchDelivery(context, response as unknown as ServerResponse, 'w1', tasks);
}

test('A-33 S-25: a reply counts as delivered once it is flushed, and only then', () => {
  const { calls, context, response } = fakeDelivery();
  assert.equal(watch(context, response), true);
  assert.deepEqual(calls, []);
  response.emit('finish');
  response.emit('close');
  assert.deepEqual(calls, ['delivered']);
});

test('A-33: tasks of a reply that was cut before it was flushed are given back', () => {
  const { calls, context, response } = fakeDelivery();
  watch(context, response);
  response.emit('close');
  assert.deepEqual(calls, ['undelivered']);
});

test('A-33 B-015: tasks for a connection that is gone already are given back and not sent', () => {
  const { calls, context, response } = fakeDelivery();
  response.destroyed = true;
  assert.equal(watch(context, response), false);
  assert.deepEqual(calls, ['undelivered']);
});
