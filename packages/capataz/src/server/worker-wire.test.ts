import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '../std/json.ts';
import { type Asked, ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';

const blueprints = [echoBlueprint];

interface RegisterOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly extra?: JsonObject;
}

async function register(url: string, id: string, options: RegisterOptions = {}): Promise<void> {
  const { status, text } = await ask(url, 'POST /_worker/workers/register', {
    headers: options.headers ?? {},
    body: {
      worker_id: id,
      supported_skills: ['echo'],
      capabilities: { extra: options.extra ?? {} },
    },
  });
  assert.equal(status, 200, text);
}

async function start(url: string, input: JsonValue = { x: 1 }): Promise<string> {
  const { json } = await ask(url, 'POST /api/v1/jobs/echo', { body: { initial_data: input } });
  return (json as { job_id: string }).job_id;
}

interface WireTask {
  readonly job_id: string;
  readonly task_id: string;
}

async function poll(url: string, worker: string, query = 'timeout=30'): Promise<Asked> {
  return ask(url, `GET /_worker/workers/${worker}/tasks/next?${query}`);
}

async function pollTask(url: string, worker: string): Promise<WireTask> {
  // Only the two ids are looked at.
  return (await poll(url, worker)).json as unknown as WireTask;
}

function success({ job_id, task_id }: WireTask, data: JsonValue = {}): JsonObject {
  return { job_id, task_id, status: 'success', data };
}

function byWorker(id: string): { headers: Record<string, string> } {
  return { headers: { 'X-Worker-ID': id } };
}

test('A-32: a waiting task is returned at once, one that arrives later at once too', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1');
  const first = await start(served.url);
  assert.partialDeepStrictEqual(await pollTask(served.url, 'w1'), { job_id: first });
  const waiting = pollTask(served.url, 'w1');
  await served.calls.reached('poll', 2);
  const second = await start(served.url);
  assert.partialDeepStrictEqual(await waiting, { job_id: second });
});

test('A-32: without a task the answer is 204 when the time that was asked for is over', async () => {
  await using served = await serveEngine({ blueprints, limits: { pollMs: 5_000 } });
  await register(served.url, 'w1');
  const short = poll(served.url, 'w1', 'timeout=2.5');
  await served.calls.reached('poll', 1);
  const clamped = poll(served.url, 'w1', 'timeout=900');
  await served.calls.reached('poll', 2);
  await served.clock.advance(2_500);
  const answer = await short;
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get('x-rxon-version'), '1.0b14');
  await served.clock.advance(2_500);
  assert.equal((await clamped).status, 204);
});

test('A-33 B-015: a poll whose connection closed while it waited gets no task', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'gone');
  await register(served.url, 'alive');
  const leaving = new AbortController();
  const route = 'GET /_worker/workers/gone/tasks/next?timeout=30';
  const abandoned = ask(served.url, route, { signal: leaving.signal }).catch(() => 'aborted');
  await served.calls.reached('poll', 1);
  leaving.abort();
  assert.equal(await abandoned, 'aborted');
  await served.calls.reached('pollEnded', 1);
  const job = await start(served.url);
  assert.partialDeepStrictEqual(await pollTask(served.url, 'alive'), { job_id: job });
  assert.equal(served.calls.count('undelivered'), 0);
});

test('S-23: only the close of the last kept connection of a worker counts as dropped', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1', { headers: { Connection: 'close' } });
  const leave = [new AbortController(), new AbortController()];
  const polls = leave.map(({ signal }) =>
    ask(served.url, 'GET /_worker/workers/w1/tasks/next', {
      signal,
      headers: { 'X-Worker-ID': 'w1' },
    }).catch(() => 'aborted'),
  );
  await served.calls.reached('poll', 2);
  assert.equal(served.calls.count('connectionDropped'), 0);
  for (const controller of leave) controller.abort();
  await Promise.all(polls);
  await served.calls.reached('connectionDropped', 1);
  assert.equal(served.calls.count('connectionDropped', 'w1'), 1);
});

test('A-35: the heartbeat of an unknown worker is 404 Worker not found', async () => {
  await using served = await serveEngine({ blueprints });
  for (const body of [{ status: 'idle' }, undefined]) {
    const answer = await ask(served.url, 'PATCH /_worker/workers/nobody', body ? { body } : {});
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, { error: 'Worker not found', code: 'WORKER_NOT_FOUND' });
  }
  const answer = await poll(served.url, 'nobody');
  assert.equal(answer.status, 404);
  await register(served.url, 'nobody');
  assert.deepEqual((await ask(served.url, 'PATCH /_worker/workers/nobody')).json, {
    status: 'ttl_refreshed',
  });
});

test('S-18: task_id on the wire is the attempt, and the heartbeat names what to stop', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1');
  const job = await start(served.url);
  const task = await pollTask(served.url, 'w1');
  const [stored] = await served.store.tasks([job]);
  assert.equal(task.task_id, stored?.attempt?.id);
  assert.notEqual(task.task_id, stored?.id);
  const beat = { current_tasks: [task.task_id] };
  const route = 'PATCH /_worker/workers/w1';
  assert.deepEqual((await ask(served.url, route, { body: beat })).json, { status: 'ok' });
  await ask(served.url, `POST /api/v1/jobs/${job}/cancel`);
  assert.deepEqual((await ask(served.url, route, { body: beat })).json, {
    status: 'ok',
    cancel_task_ids: [task.task_id],
  });
});

test('S-19: a late or repeated result is 200 ignored with a reason', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1');
  await start(served.url);
  const task = await pollTask(served.url, 'w1');
  const route = 'POST /_worker/tasks/result';
  const report = { ...byWorker('w1'), body: success(task, { y: 2 }) };
  const first = await ask(served.url, route, report);
  assert.deepEqual(first.json, { status: 'accepted', transition: 'success_transition' });
  const second = await ask(served.url, route, report);
  assert.equal(second.status, 200);
  assert.partialDeepStrictEqual(second.json, { status: 'ignored' });
  const unknown = { ...success(task), job_id: 'no-such-job' };
  const third = await ask(served.url, route, { ...byWorker('w1'), body: unknown });
  assert.deepEqual(third.json, {
    status: 'ignored',
    reason: 'job_not_found',
    message: 'There is no such job.',
  });
});

test('A-36 S-40: batched forms for workers that asked, answers in order, next tasks with them', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'fast', { extra: { batch: true, slots: 4 } });
  const jobs: string[] = [];
  for (let index = 0; index < 5; index += 1) jobs.push(await start(served.url));
  const { json } = await poll(served.url, 'fast', 'timeout=0&max=3');
  const { tasks } = json as unknown as { tasks: WireTask[] };
  assert.deepEqual(
    tasks.map((task) => task.job_id),
    jobs.slice(0, 3),
  );
  const [one, two] = tasks as [WireTask, WireTask];
  const stale = { ...success(one), task_id: 'older-attempt' };
  const answer = await ask(served.url, 'POST /_worker/tasks/results', {
    ...byWorker('fast'),
    body: { results: [success(one), stale, success(two)], want: 2 },
  });
  assert.equal(answer.status, 200, answer.text);
  const accepted = { status: 'accepted', transition: 'success_transition' };
  assert.partialDeepStrictEqual(answer.json, {
    results: [accepted, { status: 'refused', code: 'ATTEMPT_NOT_CURRENT' }, accepted],
  });
  const next = (answer.json as unknown as { tasks: WireTask[] }).tasks;
  assert.deepEqual(
    next.map((task) => task.job_id),
    jobs.slice(3),
  );
  await served.calls.reached('delivered', 2);
});

test('A-36: a worker that did not ask gets one task a poll and no batched post', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'plain');
  const job = await start(served.url);
  await start(served.url);
  const { json } = await poll(served.url, 'plain', 'timeout=0&max=5');
  assert.partialDeepStrictEqual(json, { job_id: job });
  const answer = await ask(served.url, 'POST /_worker/tasks/results', {
    ...byWorker('plain'),
    body: { results: [] },
  });
  assert.equal(answer.status, 400);
  assert.partialDeepStrictEqual(answer.json, { code: 'NOT_SUPPORTED' });
});

const withTokens = {
  clients: null,
  workers: [
    { id: 'a', token: 'token-a' },
    { id: 'b', token: 'token-b' },
  ],
  commonWorkerToken: 'common',
};

function as(id: string, token = `token-${id}`): { headers: Record<string, string> } {
  return { headers: { 'X-Worker-Token': token, 'X-Worker-ID': id } };
}

async function servedWithTokens(): Promise<ServedEngine> {
  const served = await serveEngine({ blueprints, access: withTokens });
  await register(served.url, 'a', as('a'));
  await register(served.url, 'b', as('b'));
  return served;
}

test('S-39 A-48: missing and wrong tokens are 401, the token of another worker 403', async () => {
  await using served = await servedWithTokens();
  const routes = [
    'GET /_worker/workers/a/tasks/next',
    'PATCH /_worker/workers/a',
    'POST /_worker/tasks/result',
    'POST /_worker/workers/register',
  ];
  for (const route of routes) {
    const missing = await ask(served.url, route, { headers: { 'X-Worker-ID': 'a' } });
    assert.equal(missing.status, 401, route);
    assert.match((missing.json as { error: string }).error, /^Unauthorized: /);
    assert.equal((await ask(served.url, route, as('a', 'wrong'))).status, 401, route);
    const foreign = await ask(served.url, route, as('a', 'token-b'));
    assert.equal(foreign.status, 403, route);
    assert.doesNotMatch(foreign.text, /unauthorized|not found/i);
    assert.equal((await ask(served.url, route, as('a', 'common'))).status, 403, route);
  }
  const nameless = { headers: { 'X-Worker-Token': 'nonsense' }, body: { worker_id: 'a' } };
  assert.equal((await ask(served.url, 'POST /_worker/workers/register', nameless)).status, 401);
});

test("B-097: a worker neither polls another's queue, nor beats, nor reports for it", async () => {
  await using served = await servedWithTokens();
  await start(served.url);
  const polled = await ask(served.url, 'GET /_worker/workers/a/tasks/next', as('a'));
  const task = polled.json as unknown as WireTask;
  const attempts: [route: string, body?: JsonObject][] = [
    ['GET /_worker/workers/a/tasks/next?timeout=0'],
    ['PATCH /_worker/workers/a', { status: 'idle' }],
    ['PATCH /_worker/workers/b', { worker_id: 'a', status: 'idle' }],
    ['POST /_worker/tasks/result', { ...success(task), worker_id: 'a' }],
    ['POST /_worker/tasks/results', { results: [{ ...success(task), worker_id: 'a' }] }],
    ['POST /_worker/workers/register', { worker_id: 'a', supported_skills: [] }],
    ['POST /_worker/events', { worker_id: 'a', event_type: 'custom' }],
  ];
  for (const [route, body] of attempts) {
    const answer = await ask(served.url, route, { ...as('b'), ...(body ? { body } : {}) });
    assert.equal(answer.status, 403, `${route}: ${answer.text}`);
  }
  const asItself = await ask(served.url, 'POST /_worker/tasks/result', {
    ...as('b'),
    body: success(task),
  });
  assert.partialDeepStrictEqual(asItself.json, { status: 'ignored', reason: 'worker_mismatch' });
  const own = { ...as('a'), body: success(task) };
  assert.partialDeepStrictEqual((await ask(served.url, 'POST /_worker/tasks/result', own)).json, {
    status: 'accepted',
  });
});

test('who reports may stand in the body alone, but must stand somewhere', async () => {
  await using served = await servedWithTokens();
  const headers = { 'X-Worker-Token': 'token-a' };
  const body = { worker_id: 'a', event_type: 'custom' };
  const named = await ask(served.url, 'POST /_worker/events', { headers, body });
  assert.deepEqual(named.json, { status: 'event_accepted' });
  const nameless = { headers, body: { event_type: 'custom' } };
  const refused = await ask(served.url, 'POST /_worker/events', nameless);
  assert.equal(refused.status, 400);
});

test('A-70: progress by either name is shown on the job, clamped to 0 to 1', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1');
  const job = await start(served.url);
  const { task_id } = await pollTask(served.url, 'w1');
  for (const [event_type, field] of [
    ['progress', 'target_task_id'],
    ['progress_update', 'origin_task_id'],
  ] as const) {
    const answer = await ask(served.url, 'POST /_worker/events', {
      ...byWorker('w1'),
      body: {
        event_type,
        [field]: task_id,
        target_job_id: job,
        payload: { progress: 7, message: event_type },
      },
    });
    assert.deepEqual(answer.json, { status: 'event_accepted' });
    assert.partialDeepStrictEqual((await ask(served.url, `GET /api/v1/jobs/${job}`)).json, {
      progress: { fraction: 1, message: event_type },
    });
  }
});

test('B-086: what cannot be stored is cleaned on its way in, and the result goes through', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1');
  const job = await start(served.url);
  const { job_id, task_id } = await pollTask(served.url, 'w1');
  const rawBody = `{"job_id":"${job_id}","task_id":"${task_id}","data":{"a\\u0000":"x\\ud800y\\u0000","__proto__":{"p":1}}}`;
  const answer = await ask(served.url, 'POST /_worker/tasks/result', {
    ...byWorker('w1'),
    rawBody,
  });
  assert.equal(answer.status, 200, answer.text);
  assert.partialDeepStrictEqual((await ask(served.url, `GET /api/v1/jobs/${job}`)).json, {
    status: 'finished',
    result: { 'a\ufffd': 'x\ufffdy\ufffd' },
  });
});

test('B-086: what is no JSON, too deep, too large or of another type is refused by name', async () => {
  await using served = await serveEngine({ blueprints, limits: { bodyBytes: 1_000 } });
  const route = 'POST /_worker/tasks/result';
  const cases: [rawBody: string, status: number, code: string][] = [
    ['{"a":', 400, 'INVALID_JSON'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 400, 'JSON_TOO_DEEP'],
    [`"${'x'.repeat(1_000)}"`, 413, 'PAYLOAD_TOO_LARGE'],
    ['[]', 400, 'VALIDATION_FAILED'],
  ];
  for (const [rawBody, status, code] of cases) {
    const answer = await ask(served.url, route, { ...byWorker('w1'), rawBody });
    assert.equal(answer.status, status, code);
    assert.partialDeepStrictEqual(answer.json, { code });
  }
  const headers = { 'Content-Type': 'text/plain', 'X-Worker-ID': 'w1' };
  const plain = await ask(served.url, route, { rawBody: 'x', headers });
  assert.equal(plain.status, 415);
});

test('a body that is wrong names every field with its path', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served.url, 'w1', { extra: { batch: true } });
  const answer = await ask(served.url, 'POST /_worker/tasks/results', {
    ...byWorker('w1'),
    body: {
      results: [{ job_id: 'j', task_id: 't' }, { task_id: 7, error: { code: [] } }, 3],
      want: -1,
    },
  });
  assert.equal(answer.status, 400);
  const { details } = answer.json as unknown as { details: { problems: { path: string }[] } };
  assert.deepEqual(
    details.problems.map(({ path }) => path),
    [
      'results[1].job_id',
      'results[1].task_id',
      'results[1].error.code',
      'results[2]',
      'results[2].job_id',
      'results[2].task_id',
      'want',
    ],
  );
  const query = await poll(served.url, 'w1', 'timeout=soon&max=0');
  assert.match(query.text, /max must be.*timeout must be/);
});

test('the WebSocket is answered 404 until it is offered', async () => {
  await using served = await serveEngine({ blueprints });
  const answer = await ask(served.url, 'GET /_worker/ws/w1');
  assert.equal(answer.status, 404);
  assert.equal(answer.headers.get('x-rxon-version'), '1.0b14');
});
