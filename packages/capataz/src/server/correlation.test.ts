import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../testing/ask.ts';
import { readJob, startJob } from '../testing/asked-job.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';

const header = 'x-correlation-id';
const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const blueprints = [echoBlueprint];

async function start({ url }: ServedEngine, correlation?: string) {
  const headers = correlation === undefined ? {} : { [header]: correlation };
  const { json, headers: answered } = await ask(url, 'POST /api/v1/jobs/echo', { headers });
  const job = await readJob(url, (json as { job_id: string }).job_id);
  return { job, answered: answered.get(header) };
}

test('H-33 a correlation id that is given is used unchanged, and comes back', async () => {
  await using served = await serveEngine({ blueprints });
  for (const given of ['demo-1', 'A.b_c:9', 'x'.repeat(128)]) {
    const { job, answered } = await start(served, given);
    assert.deepEqual([job.correlation_id, answered], [given, given]);
  }
});

test('H-34 H-t without one, or with one that is not readable, a UUID of version 4 is made', async () => {
  await using served = await serveEngine({ blueprints });
  const seen = new Set<string>();
  for (const given of [undefined, '', ' ', 'a b', 'a,b', 'é', 'x'.repeat(129), '<script>']) {
    const { job, answered } = await start(served, given);
    assert.match(job.correlation_id, version4);
    assert.equal(answered, job.correlation_id);
    seen.add(job.correlation_id);
  }
  assert.equal(seen.size, 8);
});

test('H-35 every route applies it, whatever it answers', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'echo');
  const routes = served.server.routes.map(({ method, path }) => {
    const filled = path.replace('{id}', id).replaceAll(/\{\w+\}/g, 'x');
    return `${method} ${filled}${filled.endsWith('/next') ? '?timeout=0' : ''}`;
  });
  assert.ok(routes.length > 30);
  for (const route of [...routes, 'GET /nowhere', 'POST /metrics', 'GET /api/v1/jobs/%zz']) {
    // Streams end by being left.
    const leaving = new AbortController();
    const response = await fetch(`${served.url}${route.split(' ')[1]}`, {
      method: route.split(' ')[0] ?? '',
      headers: { [header]: 'demo-1' },
      signal: leaving.signal,
    });
    assert.equal(response.headers.get(header), 'demo-1', route);
    leaving.abort();
  }
});

test('H-35 the jobs of a batch share the id of their request', async () => {
  await using served = await serveEngine({ blueprints });
  const route = 'POST /api/v1/jobs/echo/batch';
  const { json, headers } = await ask(served.url, route, { body: [{}, {}] });
  for (const { job_id } of json as { job_id: string }[]) {
    const { correlation_id } = await readJob(served.url, job_id);
    assert.equal(correlation_id, headers.get(header));
  }
});

test('H-36 each entry of the book carries it, in the history and in both streams', async () => {
  await using served = await serveEngine({ blueprints });
  const { job } = await start(served, 'demo-1');
  await ask(served.url, `POST /api/v1/jobs/${job.id}/cancel`, { headers: { [header]: 'other' } });
  const { json } = await ask(served.url, `GET /api/v1/jobs/${job.id}/history`);
  const { history } = json as { history: { correlation_id: string }[] };
  assert.ok(history.length > 2);
  const { text } = await ask(served.url, `GET /api/v1/jobs/${job.id}/events`);
  assert.equal(text.match(/"correlation_id":"demo-1"/g)?.length, history.length);
  const page = await served.engine.events.read(0, 100);
  const linked = [...history.map((entry) => entry.correlation_id)];
  linked.push(...page.events.map(({ correlationId }) => correlationId));
  assert.deepEqual(new Set(linked), new Set(['demo-1']));
  const found = await ask(served.url, 'GET /api/v1/jobs?correlation_id=demo-1');
  assert.partialDeepStrictEqual(found.json, { jobs: [{ id: job.id }] });
  const none = await ask(served.url, 'GET /api/v1/jobs?correlation_id=demo');
  assert.partialDeepStrictEqual(none.json, { jobs: [] });
});
