import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('A-71: the answer of a poll carries the traceparent of the request that created the job', async () => {
  await using served = await serveEngine({ blueprints: [echoBlueprint] });
  const start = (headers: Record<string, string>) =>
    ask(served.url, 'POST /api/v1/jobs/echo', { headers });
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'], resources: { max_concurrent_tasks: 2 } },
  });
  await start({ traceparent: trace });
  const traced = await ask(served.url, 'GET /_worker/workers/w1/tasks/next');
  assert.equal(traced.headers.get('traceparent'), trace);
  assert.partialDeepStrictEqual(traced.json, { tracing_context: { traceparent: trace } });
  await start({});
  const other = await ask(served.url, 'GET /_worker/workers/w1/tasks/next');
  assert.equal(other.headers.get('traceparent'), null);
});
