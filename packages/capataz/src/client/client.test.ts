import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError, createClient, type WatchedEvent } from 'capataz/client';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const blueprints = [echoBlueprint];

function serve(): Promise<ServedEngine> {
  return serveEngine({ blueprints });
}

async function register({ url }: ServedEngine): Promise<void> {
  await ask(url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
}

async function workOnce({ url }: ServedEngine): Promise<void> {
  const task = await ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  assert.equal(task.status, 200);
  await ask(url, 'POST /_worker/tasks/result', {
    headers: { 'X-Worker-ID': 'w1' },
    body: { ...(task.json as { job_id: string; task_id: string }), data: { answer: 42 } },
  });
}

test('a job is started, watched to its end and waited for', async () => {
  await using served = await serve();
  const { jobs } = createClient({ url: served.url });
  const { jobId } = await jobs.start('echo', { x: 1 }, { resultTimeout: '90s', priority: 3 });
  const stored = await jobs.get(jobId);
  assert.partialDeepStrictEqual(stored, { status: 'waiting_for_worker', priority: 3 });
  assert.equal((await served.store.job(jobId))?.options.resultTimeoutMs, 90_000);
  const seen: string[] = [];
  const watching = (async () => {
    for await (const event of jobs.watch(jobId)) {
      if (event.type === 'entry') seen.push(event.entry.type);
    }
  })();
  const waiting = jobs.wait(jobId);
  await register(served);
  await workOnce(served);
  assert.partialDeepStrictEqual(await waiting, { status: 'finished', result: { answer: 42 } });
  await watching;
  assert.equal(seen[0], 'job_created');
  assert.equal(seen.at(-1), 'job_finished');
  const book: string[] = [];
  for await (const { type } of jobs.history(jobId)) book.push(type);
  assert.deepEqual(seen, book);
});

test('wait gives up after its time and leaves the job alone', async () => {
  await using served = await serve();
  const clock = new VirtualClock();
  const { jobs } = createClient({ url: served.url, clock });
  const { jobId } = await jobs.start('echo');
  const waiting = jobs.wait(jobId, { timeout: '1s' });
  const refused = assert.rejects(waiting, { code: 'WAIT_TIMEOUT' });
  await clock.advance(1_000);
  await refused;
  assert.equal((await jobs.get(jobId)).status, 'waiting_for_worker');
});

test('every method speaks to its route', async () => {
  await using served = await serve();
  const client = createClient({ url: `${served.url}/` });
  const { jobs } = client;
  const started = await jobs.startMany('echo', [
    { input: { n: 1 } },
    { options: { priority: 9_999 } },
    { input: { n: 2 }, options: { attributes: { a: 1 } } },
  ]);
  const [first, refused, last] = started;
  assert.ok(refused instanceof CapatazError);
  assert.equal(refused.code, 'VALIDATION_FAILED');
  assert.ok(first !== undefined && 'jobId' in first && last !== undefined && 'jobId' in last);
  assert.equal((await jobs.hold(first.jobId)).held, true);
  assert.equal((await jobs.release(first.jobId)).held, false);
  assert.equal((await jobs.why(first.jobId)).job_id, first.jobId);
  await assert.rejects(jobs.redrive(first.jobId), { code: 'NOT_QUARANTINED' });
  assert.equal((await jobs.cancel(first.jobId, { reason: 'r' })).status, 'cancelled');
  await assert.rejects(jobs.cancel(first.jobId), { code: 'ALREADY_FINAL' });
  await assert.rejects(jobs.get('nothing'), { code: 'JOB_NOT_FOUND' });
  assert.equal((await jobs.list({ status: ['cancelled', 'finished'] })).jobs.length, 1);
  const all: string[] = [];
  for await (const { id } of jobs.all({ limit: 1 })) all.push(id);
  assert.deepEqual(all.toSorted(), [first.jobId, last.jobId].toSorted());
  assert.equal((await client.blueprints.list()).length, 1);
  assert.equal((await client.blueprints.get('echo', { version: 1 })).start, 'ask');
  assert.match(await client.blueprints.graph('echo', { format: 'mermaid' }), /^stateDiagram/);
  await register(served);
  assert.deepEqual(await client.workers.drain('w1'), { status: 'draining' });
  assert.equal((await client.workers.list())[0]?.status, 'DRAINING');
  const code = 'INVALID_WORKER_STATE_TRANSITION';
  await assert.rejects(client.workers.drain('w1'), { code });
  assert.deepEqual(await client.workers.cancelDrain('w1'), { status: 'ready' });
  await assert.rejects(client.workers.cancelDrain('w1'), { code });
  assert.deepEqual([await client.health(), await client.ready()], [true, true]);
  for await (const { position, job_id } of client.events()) {
    assert.ok([first.jobId, last.jobId].includes(job_id));
    if (position > 0) break;
  }
});

interface NotedRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly signal: AbortSignal;
}

type CannedAnswer = (request: NotedRequest) => Response | Promise<Response>;

/** A server of canned answers; every request is noted. */
function canned(answers: CannedAnswer[]) {
  const requests: NotedRequest[] = [];
  const clock = new VirtualClock();
  const fakeFetch: typeof fetch = async (url, init) => {
    const request = {
      url: String(url),
      // The client gives both in this form.
      headers: init?.headers as Record<string, string>,
      signal: init?.signal as AbortSignal,
    };
    requests.push(request);
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError('fetch failed', { cause: new Error('refused') });
    return answer(request);
  };
  const client = createClient({ url: 'http://server', token: 'tok', fetch: fakeFetch, clock });
  return { requests, clock, client };
}

function lost(): Promise<Response> {
  return Promise.reject(new TypeError('fetch failed'));
}

function json(status: number, body: object, headers: Record<string, string> = {}): () => Response {
  return () => Response.json(body, { status, headers });
}

/** Passes time, back-off by back-off, until the promise settles. */
async function passing<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  await clock.advance(0);
  for (let round = 0; !isSettled && round < 1_000; round += 1) {
    await clock.advance(clock.nextInMs() ?? 0);
  }
  return settled;
}

test('B-065: a start whose reply was lost is repeated under the same idempotency key', async () => {
  const accepted = json(202, { status: 'accepted', job_id: 'j1' });
  const { requests, clock, client } = canned([lost, lost, accepted]);
  const started = await passing(clock, client.jobs.start('echo'));
  assert.deepEqual(started, { jobId: 'j1' });
  const keys = new Set(requests.map(({ headers }) => headers['Idempotency-Key']));
  assert.equal(requests.length, 3);
  assert.equal(keys.size, 1);
  assert.equal(requests[0]?.headers['X-Client-Token'], 'tok');
});

test('a server that stays away is UNREACHABLE after four tries', async () => {
  const { requests, clock, client } = canned([]);
  await assert.rejects(passing(clock, client.jobs.get('j')), {
    code: 'UNREACHABLE',
    message: /could not be reached: refused/,
  });
  assert.equal(requests.length, 4);
  assert.equal(await client.health(), false);
  assert.equal(requests.length, 5);
});

test('a cancel whose reply was lost is not repeated, one that was not taken is', async () => {
  const first = canned([lost, json(200, {})]);
  await assert.rejects(passing(first.clock, first.client.jobs.cancel('j')), {
    code: 'UNREACHABLE',
  });
  assert.equal(first.requests.length, 1);
  const busy = json(503, { error: 'away', code: 'STORE_UNAVAILABLE' }, { 'Retry-After': '3' });
  const second = canned([busy, json(200, { status: 'cancelled' })]);
  const job = await passing(second.clock, second.client.jobs.cancel('j'));
  assert.equal(job.status, 'cancelled');
  assert.ok(second.clock.steady() >= 3_000);
});

test('a refusal is thrown at once, and a long Retry-After is not waited for', async () => {
  const limit = json(429, { error: 'quota', code: 'LIMIT' }, { 'Retry-After': '3600' });
  const gateway = () => new Response('<html>', { status: 418 });
  const { requests, clock, client } = canned([limit, gateway]);
  await assert.rejects(passing(clock, client.jobs.start('echo')), {
    code: 'LIMIT',
    details: { retry_after_ms: 3_600_000 },
  });
  await assert.rejects(passing(clock, client.jobs.start('echo')), { code: 'MALFORMED_REQUEST' });
  assert.equal(requests.length, 2);
});

test('a request without an answer is given up after 30 s', async () => {
  const { clock, client } = canned([
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  ]);
  const health = client.health();
  await clock.advance(30_000);
  assert.equal(await health, false);
  assert.equal(clock.pending, 0);
});

function stream(...blocks: string[]): () => Response {
  return () => new Response(blocks.map((block) => `${block}\n\n`).join(''), { status: 200 });
}

function entry(seq: number, type: string): string {
  return `id: ${seq}\ndata: ${JSON.stringify({ seq, at: '', type })}`;
}

async function collect(watching: AsyncIterable<WatchedEvent>): Promise<(string | number | null)[]> {
  const seen: (string | number | null)[] = [];
  for await (const event of watching) {
    seen.push(event.type === 'entry' ? event.entry.type : event.progress.fraction);
  }
  return seen;
}

test('a watch comes back behind the last entry it saw, whatever broke', async () => {
  const progress = 'event: progress\ndata: {"fraction":0.5,"message":null}';
  const { requests, clock, client } = canned([
    stream(entry(1, 'job_created'), entry(2, 'state_entered'), progress),
    lost,
    json(503, { error: 'starting', code: 'NOT_READY' }),
    stream(entry(3, 'job_finished')),
  ]);
  const seen = await passing(clock, collect(client.jobs.watch('j')));
  assert.deepEqual(seen, ['job_created', 'state_entered', 0.5, 'job_finished']);
  assert.deepEqual(
    requests.map(({ url }) => url.split('?')[1]),
    ['after=0', 'after=2', 'after=2', 'after=2'],
  );
});

test('a watch ends with 204, throws a refusal, and gives up on a server that stays away', async () => {
  const over = canned([() => new Response(null, { status: 204 })]);
  assert.deepEqual(await passing(over.clock, collect(over.client.jobs.watch('j'))), []);
  const refused = canned([json(404, { error: 'no', code: 'JOB_NOT_FOUND' })]);
  await assert.rejects(passing(refused.clock, collect(refused.client.jobs.watch('j'))), {
    code: 'JOB_NOT_FOUND',
  });
  const away = canned([]);
  await assert.rejects(passing(away.clock, collect(away.client.jobs.watch('j'))), {
    code: 'UNREACHABLE',
  });
  assert.equal(away.requests.length, 31);
  assert.equal(away.clock.pending, 0);
});

test('leaving a watch ends its request', async () => {
  const { requests, clock, client } = canned([stream(entry(1, 'job_created'))]);
  for await (const _ of client.jobs.watch('j')) break;
  assert.equal(requests[0]?.signal.aborted, true);
  assert.equal(clock.pending, 0);
});
