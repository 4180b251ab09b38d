import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import { type Asked, ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';

const picky = blueprint({
  name: 'picky',
  version: 1,
  input: z.object({ n: z.number() }),
  states: { single: { start: true, end: true, handle: (job) => finish(job.input.n) } },
});
const blueprints = [echoBlueprint, picky];

function start(
  url: string,
  body: JsonValue,
  { path = 'echo', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Asked> {
  return ask(url, `POST /api/v1/jobs/${path}`, { body, headers });
}

/** The paths of a refusal's problems. */
function problemPaths({ json }: Asked): string[] {
  const { details } = json as unknown as { details: { problems: { path: string }[] } };
  return details.problems.map(({ path }) => path).sort();
}

test('S-10: a job is started with 202 and every option that it takes', async () => {
  await using served = await serveEngine({ blueprints });
  const id = '0b8f9f3e-6d53-4c4e-9d5c-0f2f0d6f1a11';
  const answer = await start(
    served.url,
    {
      initial_data: { x: 1 },
      job_id: id.toUpperCase(),
      dispatch_timeout: 60,
      result_timeout: 120,
      priority: -1000,
      attributes: { customer: 'c1' },
      start_delay: 0.5,
      metadata: { m: 1 },
    },
    { headers: { 'X-Correlation-ID': 'corr-1' } },
  );
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.json, { status: 'accepted', job_id: id });
  const { json } = await ask(served.url, `GET /api/v1/jobs/${id.toUpperCase()}`);
  assert.partialDeepStrictEqual(json, {
    id,
    client: 'dev',
    blueprint: 'echo',
    blueprint_version: 1,
    priority: -1000,
    input: { x: 1 },
    attributes: { customer: 'c1' },
    metadata: { m: 1 },
    correlation_id: 'corr-1',
    progress: null,
    result: null,
    ended_at: null,
  });
  const job = await served.store.job(id);
  assert.equal(job?.options.dispatchTimeoutMs, 60_000);
  assert.equal(job?.options.resultTimeoutMs, 120_000);
});

test('S-10: what is unknown, of the wrong type or out of range is refused, all at once', async () => {
  await using served = await serveEngine({ blueprints });
  const answer = await start(served.url, {
    priority: 1001,
    job_id: 'seven',
    result_timeout: '5m',
    start_delay: -1,
    attributes: [],
    colour: 'red',
  });
  assert.equal(answer.status, 400);
  assert.partialDeepStrictEqual(answer.json, { code: 'VALIDATION_FAILED' });
  assert.deepEqual(problemPaths(answer), [
    'attributes',
    'colour',
    'job_id',
    'priority',
    'result_timeout',
    'start_delay',
  ]);
  const input = await start(served.url, { input: {} });
  assert.match(JSON.stringify(input.json), /"is not known here; known are initial_data, job_id, /);
  const webhook = await start(served.url, { webhook_url: 'http://example.test/' });
  assert.equal(webhook.status, 400);
  assert.partialDeepStrictEqual(webhook.json, { code: 'NOT_SUPPORTED' });
  assert.equal((await start(served.url, [])).status, 400);
  assert.partialDeepStrictEqual(await start(served.url, {}, { path: 'nothing' }), {
    status: 404,
    json: { code: 'BLUEPRINT_NOT_FOUND' },
  });
  assert.partialDeepStrictEqual(await start(served.url, { initial_data: {} }, { path: 'picky' }), {
    status: 400,
    json: { code: 'INPUT_INVALID' },
  });
});

test('S-10: a body may be left out', async () => {
  await using served = await serveEngine({ blueprints });
  const { status, json } = await ask(served.url, 'POST /api/v1/jobs/echo');
  assert.equal(status, 202);
  const id = (json as { job_id: string }).job_id;
  assert.deepEqual((await served.store.job(id))?.input, {});
});

test('S-10 B-065: the same idempotency key and body give the first job, another body 409', async () => {
  await using served = await serveEngine({ blueprints });
  const headers = { 'Idempotency-Key': 'order-7' };
  const first = await start(served.url, { initial_data: { a: 1, b: 2 } }, { headers });
  const again = await start(served.url, { initial_data: { b: 2, a: 1 } }, { headers });
  assert.equal(again.status, 202);
  assert.deepEqual(again.json, first.json);
  const other = await start(served.url, { initial_data: { a: 1 } }, { headers });
  assert.equal(other.status, 409);
  assert.partialDeepStrictEqual(other.json, { code: 'IDEMPOTENCY_CONFLICT' });
  const bad = await start(served.url, {}, { headers: { 'Idempotency-Key': 'é'.repeat(3) } });
  assert.equal(bad.status, 400);
  assert.equal((await served.store.jobs({ limit: 10 })).length, 1);
});

test('S-10: a job id is taken once', async () => {
  await using served = await serveEngine({ blueprints });
  const body = { job_id: '0b8f9f3e-6d53-4c4e-9d5c-0f2f0d6f1a11' };
  assert.equal((await start(served.url, body)).status, 202);
  assert.partialDeepStrictEqual(await start(served.url, body), {
    status: 409,
    json: { code: 'JOB_EXISTS' },
  });
});

test('S-10: a batch answers in order, and a refused job harms none of the others', async () => {
  await using served = await serveEngine({ blueprints });
  const options = { path: 'picky/batch', headers: { 'Idempotency-Key': 'batch-1' } };
  const body = [
    { initial_data: { n: 1 } },
    { initial_data: { n: 'one' } },
    { priority: 5000 },
    { webhook_url: 'x' },
    { initial_data: { n: 2 } },
  ];
  const answer = await start(served.url, body, options);
  assert.equal(answer.status, 202);
  assert.partialDeepStrictEqual(answer.json, [
    { status: 'accepted' },
    { status: 'refused', code: 'INPUT_INVALID' },
    { status: 'refused', code: 'VALIDATION_FAILED' },
    { status: 'refused', code: 'NOT_SUPPORTED' },
    { status: 'accepted' },
  ]);
  assert.deepEqual((await start(served.url, body, options)).json, answer.json);
  const results = (await served.store.jobs({ limit: 10 })).map(({ result }) => result);
  assert.deepEqual(results.toSorted(), [1, 2]);
  for (const wrong of [[], {}, new Array<JsonObject>(1_001).fill({})]) {
    assert.equal((await start(served.url, wrong, options)).status, 400);
  }
});

const twoClients = {
  clients: [
    { name: 'acme', token: 'acme-token' },
    { name: 'other', token: 'other-token' },
  ],
  workers: null,
  commonWorkerToken: null,
};

test('A-47: without a valid token 401, a foreign and an unknown job both 404', async () => {
  await using served = await serveEngine({ blueprints, access: twoClients });
  const acme = { 'X-Client-Token': 'acme-token' };
  const other = { 'X-Client-Token': 'other-token' };
  const { json } = await start(served.url, {}, { headers: acme });
  const id = (json as { job_id: string }).job_id;
  const missing = await ask(served.url, `GET /api/v1/jobs/${id}`);
  assert.deepEqual(
    [missing.status, missing.json],
    [401, { error: 'Missing X-Client-Token header', code: 'UNAUTHORIZED' }],
  );
  const wrong = { headers: { 'X-Client-Token': 'acme' } };
  assert.equal((await ask(served.url, 'GET /api/v1/workers', wrong)).status, 401);
  const routes = ['', '/history', '/why', '/events'].map((end) => [`GET /api/v1/jobs/`, end]);
  const verbs = ['/cancel', '/redrive', '/hold', '/release'].map((end) => [
    `POST /api/v1/jobs/`,
    end,
  ]);
  for (const [head, end] of [...routes, ...verbs]) {
    const foreign = await ask(served.url, `${head}${id}${end}`, { headers: other });
    const unknown = await ask(served.url, `${head}${unknownId}${end}`, { headers: other });
    assert.equal(foreign.status, 404, end);
    assert.equal(unknown.status, 404, end);
    assert.equal(foreign.text.replace(id, ''), unknown.text.replace(unknownId, ''), end);
  }
  const list = async (headers: Record<string, string>): Promise<JsonValue> =>
    (await ask(served.url, 'GET /api/v1/jobs', { headers })).json;
  assert.deepEqual(await list(other), { jobs: [], next: null });
  assert.partialDeepStrictEqual(await list(acme), { jobs: [{ id }] });
});

const unknownId = '11111111-2222-4333-8444-555555555555';

test('S-10: cancelling ends a job, and a final one answers 409 with its status', async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await start(served.url, {});
  const route = `POST /api/v1/jobs/${(json as { job_id: string }).job_id}/cancel`;
  const first = await ask(served.url, route, { body: { reason: 'no longer wanted' } });
  assert.equal(first.status, 200);
  assert.partialDeepStrictEqual(first.json, { status: 'cancelled' });
  const second = await ask(served.url, route);
  assert.equal(second.status, 409);
  assert.partialDeepStrictEqual(second.json, {
    code: 'ALREADY_FINAL',
    details: { status: 'cancelled' },
  });
  assert.equal((await ask(served.url, route, { body: { why: 'x' } })).status, 400);
});

test('hold, release and redrive answer with the job or with what forbids it', async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await start(served.url, {});
  const path = `POST /api/v1/jobs/${(json as { job_id: string }).job_id}`;
  assert.partialDeepStrictEqual(await ask(served.url, `${path}/hold`), {
    status: 200,
    json: { held: true },
  });
  assert.partialDeepStrictEqual(await ask(served.url, `${path}/hold`), {
    status: 409,
    json: { code: 'WRONG_STATUS' },
  });
  assert.partialDeepStrictEqual(await ask(served.url, `${path}/release`), {
    status: 200,
    json: { held: false },
  });
  assert.partialDeepStrictEqual(await ask(served.url, `${path}/redrive`), {
    status: 409,
    json: { code: 'NOT_QUARANTINED' },
  });
});

test('jobs are listed newest first, filtered and page by page', async () => {
  await using served = await serveEngine({ blueprints });
  for (let n = 0; n < 5; n += 1) {
    const body = { initial_data: { n }, job_id: `00000000-0000-7000-8000-00000000000${n}` };
    await start(served.url, body, { path: n % 2 === 0 ? 'picky' : 'echo' });
  }
  const seen: JsonValue[] = [];
  let next: JsonValue = null;
  do {
    const before: string = next === null ? '' : `&before=${next}`;
    const { json } = await ask(served.url, `GET /api/v1/jobs?limit=2${before}`);
    const page = json as unknown as { jobs: { input: { n: number } }[]; next: string | null };
    seen.push(...page.jobs.map(({ input }) => input.n));
    next = page.next;
  } while (next !== null);
  assert.deepEqual(seen, [4, 3, 2, 1, 0]);
  const count = async (query: string): Promise<number> => {
    const { json } = await ask(served.url, `GET /api/v1/jobs?${query}`);
    return (json as unknown as { jobs: unknown[] }).jobs.length;
  };
  assert.equal(await count('status=finished'), 3);
  assert.equal(await count('status=finished,waiting_for_worker'), 5);
  assert.equal(await count('blueprint=echo&state=ask'), 2);
  const wrong = await ask(served.url, 'GET /api/v1/jobs?status=done&limit=0&page=2');
  assert.deepEqual(problemPaths(wrong), ['limit', 'page', 'status[0]']);
});

test("a job's book is read page by page, in the wire's names", async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await start(served.url, {});
  const id = (json as { job_id: string }).job_id;
  const first = await ask(served.url, `GET /api/v1/jobs/${id}/history?limit=1`);
  assert.partialDeepStrictEqual(first.json, {
    history: [{ seq: 1, type: 'job_created', at: new Date(served.clock.now()).toISOString() }],
    next: 1,
  });
  const rest = await ask(served.url, `GET /api/v1/jobs/${id}/history?after=1`);
  const page = rest.json as unknown as { history: { task_to?: string }[]; next: number | null };
  assert.equal(page.next, null);
  assert.ok(
    page.history.some(({ task_to }) => task_to === 'PENDING'),
    rest.text,
  );
});

test('why says what a waiting task lacks', async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await start(served.url, {});
  const id = (json as { job_id: string }).job_id;
  const why = await ask(served.url, `GET /api/v1/jobs/${id}/why`);
  assert.equal(why.status, 200);
  assert.partialDeepStrictEqual(why.json, { job_id: id, task: { skill: 'echo', workers: [] } });
});

test('workers are listed and drained', async () => {
  await using served = await serveEngine({ blueprints });
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: [{ name: 'echo' }], hot_skills: ['echo'] },
  });
  assert.partialDeepStrictEqual((await ask(served.url, 'GET /api/v1/workers')).json, {
    workers: [{ id: 'w1', type: 'generic', status: 'READY', skills: ['echo'], load: 0 }],
  });
  assert.deepEqual((await ask(served.url, 'POST /api/v1/workers/w1/drain')).json, {
    status: 'draining',
  });
  assert.partialDeepStrictEqual((await ask(served.url, 'GET /api/v1/workers')).json, {
    workers: [{ id: 'w1', status: 'DRAINING' }],
  });
  assert.partialDeepStrictEqual(await ask(served.url, 'POST /api/v1/workers/w2/drain'), {
    status: 404,
    json: { code: 'WORKER_NOT_FOUND' },
  });
});

test('A-5: the graph of a blueprint as DOT, SVG and Mermaid, 404 for an unknown one', async () => {
  await using served = await serveEngine({ blueprints });
  const route = 'GET /api/v1/blueprints/echo/graph';
  const dot = await ask(served.url, route);
  assert.match(dot.headers.get('content-type') ?? '', /^text\/vnd\.graphviz/);
  assert.match(dot.text, /^digraph "echo v1"/);
  const svg = await ask(served.url, `${route}?format=svg`);
  assert.equal(svg.headers.get('content-type'), 'image/svg+xml');
  assert.match(svg.text, /<svg[\s\S]*ask[\s\S]*done/);
  const mermaid = await ask(served.url, `${route}?format=mermaid&version=1`);
  assert.match(mermaid.text, /^stateDiagram-v2/);
  assert.equal((await ask(served.url, 'GET /api/v1/blueprints/none/graph')).status, 404);
  assert.equal((await ask(served.url, `${route}?version=2`)).status, 404);
  assert.equal((await ask(served.url, `${route}?format=png`)).status, 400);
});

test('blueprints are listed and shown', async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await ask(served.url, 'GET /api/v1/blueprints');
  assert.partialDeepStrictEqual(json, { blueprints: [{ name: 'echo' }, { name: 'picky' }] });
  assert.deepEqual((await ask(served.url, 'GET /api/v1/blueprints/picky')).json, {
    name: 'picky',
    version: 1,
    start: 'single',
    states: [{ name: 'single', to: [], end: 'finished' }],
  });
});
