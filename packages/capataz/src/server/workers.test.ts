import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneTask, registration } from '../engine/fixtures.ts';
import { create, scrape } from '../metrics/fixtures/scenes.ts';
import type { WorkersAnswer } from '../protocol/client-api.ts';
import { ask } from '../testing/ask.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';

const blueprints = [oneTask({ retry: { jitter: 0, base: '1ms', factor: 1, max: 99 } })];

async function register({ engine }: ServedEngine, bootId: string): Promise<void> {
  await engine.workers.register(registration('w1', { bootId }));
}

async function shown({ url }: ServedEngine): Promise<unknown> {
  const { json } = await ask(url, 'GET /api/v1/workers');
  const [worker] = (json as unknown as WorkersAnswer).workers;
  return [worker?.status, worker?.circuit];
}

test('H-7 H-ff a drain is called off over HTTP; a step that the worker cannot take is a 409 that says which', async () => {
  await using served = await serveEngine({ blueprints });
  const { url } = served;
  await register(served, 'boot-1');
  const drain = 'POST /api/v1/workers/w1/drain';
  assert.deepEqual((await ask(url, drain)).json, { status: 'draining' });
  const twice = await ask(url, drain);
  assert.equal(twice.status, 409);
  assert.deepEqual(twice.json, {
    error: 'worker "w1" is DRAINING and cannot become DRAINING (graceful stop)',
    code: 'INVALID_WORKER_STATE_TRANSITION',
    details: {
      worker_id: 'w1',
      from_state: 'DRAINING',
      to_state: 'DRAINING',
      reason: 'graceful stop',
    },
  });
  assert.deepEqual((await ask(url, `${drain}/cancel`)).json, { status: 'ready' });
  const undoneTwice = await ask(url, `${drain}/cancel`);
  assert.equal(undoneTwice.status, 409);
  assert.partialDeepStrictEqual(undoneTwice.json, {
    details: { from_state: 'READY', to_state: 'READY' },
  });
  assert.equal((await ask(url, 'POST /api/v1/workers/w2/drain/cancel')).status, 404);
});

test('S-36 H-45 an open circuit answers 204, and shows in the list and in the metrics', async () => {
  await using served = await serveEngine({ blueprints });
  const { url, clock } = served;
  await create(served, 'one-task');
  const poll = () => ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  for (let boot = 1; boot <= 5; boot += 1) {
    await register(served, `boot-${boot}`);
    await clock.advance(10);
    const polled = poll();
    await served.calls.reached('poll', boot);
    await clock.advance(0);
    assert.equal((await polled).status, 200);
  }
  assert.deepEqual(await shown(served), ['BUSY', 'closed']);
  await register(served, 'boot-6');
  await clock.advance(10);
  const polled = poll();
  await served.calls.reached('poll', 6);
  await clock.advance(0);
  assert.equal((await polled).status, 204);
  assert.deepEqual(await shown(served), ['READY', 'open']);
  const { values } = await scrape(served);
  assert.equal(values.get('circuit_breaker_state{worker_id="w1"}'), 2);
});
