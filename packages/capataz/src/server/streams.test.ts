import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { heartbeatMs } from './event-stream.ts';

const blueprints = [echoBlueprint];

/** A stream as it arrives, block by block. */
class Reading {
  readonly status: number;
  readonly headers: Headers;
  readonly #chunks: AsyncIterator<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #rest = '';

  constructor(response: Response) {
    this.status = response.status;
    this.headers = response.headers;
    this.#chunks = response.body?.[Symbol.asyncIterator]();
  }

  /** The next block, or null when the stream has ended. */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n');
      if (end !== -1) {
        const block = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        return block;
      }
      const chunk = await this.#chunks?.next();
      if (chunk === undefined || chunk.done) return null;
      this.#rest += this.#decoder.decode(chunk.value, { stream: true });
    }
  }

  async rest(): Promise<string[]> {
    const blocks: string[] = [];
    for (let block = await this.next(); block !== null; block = await this.next())
      blocks.push(block);
    return blocks;
  }
}

async function open(
  { url }: ServedEngine,
  path: string,
  headers: Record<string, string> = {},
): Promise<Reading> {
  return new Reading(await fetch(`${url}${path}`, { headers }));
}

async function startJob({ url }: ServedEngine, token?: string): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { 'X-Client-Token': token };
  const { json } = await ask(url, 'POST /api/v1/jobs/echo', { body: {}, headers });
  return (json as { job_id: string }).job_id;
}

function typeOf(block: string | null): string | undefined {
  return block?.match(/"type":"(\w+)"/)?.[1];
}

async function work(served: ServedEngine): Promise<{ job_id: string; task_id: string }> {
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  const { json } = await ask(served.url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  return json as { job_id: string; task_id: string };
}

test("A-70: a job's stream sends what is stored, then what comes, and ends after the final entry", async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served);
  const stream = await open(served, `/api/v1/jobs/${id}/events`);
  assert.equal(stream.status, 200);
  assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const first = await stream.next();
  assert.match(
    first ?? '',
    /^id: 1\ndata: \{"seq":1,"at":"2026-01-01T00:00:00\.000Z","type":"job_created"/,
  );
  for (let seq = 2; seq <= (await served.store.history(id, 0, 100)).length; seq += 1) {
    assert.match((await stream.next()) ?? '', new RegExp(`^id: ${seq}\n`));
  }
  const task = await work(served);
  assert.equal(typeOf(await stream.next()), 'task_assigned');
  const tell = (event_type: string, progress: number) =>
    ask(served.url, 'POST /_worker/events', {
      headers: { 'X-Worker-ID': 'w1' },
      body: {
        event_type,
        target_job_id: id,
        target_task_id: task.task_id,
        payload: { progress, message: event_type },
      },
    });
  await tell('progress', 0.5);
  const after: (string | null)[] = [await stream.next(), await stream.next()];
  await tell('progress_update', 0.75);
  after.push(await stream.next());
  assert.deepEqual(
    after.filter((block) => block?.startsWith('event: progress')),
    [
      'event: progress\ndata: {"fraction":0.5,"message":"progress"}',
      'event: progress\ndata: {"fraction":0.75,"message":"progress_update"}',
    ],
  );
  await ask(served.url, 'POST /_worker/tasks/result', {
    headers: { 'X-Worker-ID': 'w1' },
    body: task,
  });
  const last = await stream.rest();
  assert.equal(typeOf(last.at(-1) ?? null), 'job_finished');
});

test('a stream resumes behind Last-Event-ID, which rules over ?after=', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served);
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`);
  const path = `/api/v1/jobs/${id}/events`;
  const all = await (await open(served, path)).rest();
  assert.equal(typeOf(all.at(-1) ?? null), 'job_cancelled');
  const behind = await (await open(served, `${path}?after=2`)).rest();
  assert.deepEqual(behind, all.slice(2));
  const last = await (await open(served, `${path}?after=0`, { 'Last-Event-ID': '3' })).rest();
  assert.deepEqual(last, all.slice(3));
  assert.equal((await open(served, `${path}?after=${all.length}`)).status, 204);
});

test('an open stream says every 15 s that it is alive', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served);
  const { length } = await served.store.history(id, 0, 100);
  const stream = await open(served, `/api/v1/jobs/${id}/events?after=${length}`);
  await served.clock.advance(heartbeatMs);
  assert.equal(await stream.next(), ': alive');
  await served.clock.advance(heartbeatMs);
  assert.equal(await stream.next(), ': alive');
});

test("the stream over all jobs has positions and only this client's jobs", async () => {
  const clients = [
    { name: 'acme', token: 'acme' },
    { name: 'other', token: 'other' },
  ];
  await using served = await serveEngine({
    blueprints,
    access: { clients, workers: null, commonWorkerToken: null },
  });
  const id = await startJob(served, 'acme');
  const { position } = await served.store.events(0, 100);
  await startJob(served, 'other');
  const stream = await open(served, '/api/v1/events', { 'X-Client-Token': 'acme' });
  const ids: number[] = [];
  for (;;) {
    const block = (await stream.next()) ?? '';
    ids.push(Number(block.match(/^id: (\d+)/)?.[1]));
    if (!block.includes('data:')) break;
    assert.match(block, new RegExp(`"job_id":"${id}","entry":\\{"seq":`));
  }
  // The last block only moves the reader past what is not for it.
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  assert.ok((ids.at(-1) ?? 0) > position);
  const later = await startJob(served, 'acme');
  assert.match((await stream.next()) ?? '', new RegExp(`"job_id":"${later}"`));
});

test('streams beyond the limit are refused with 429', async () => {
  await using served = await serveEngine({ blueprints, limits: { streams: 1 } });
  const id = await startJob(served);
  const first = await open(served, '/api/v1/events');
  await first.next();
  const second = await ask(served.url, `GET /api/v1/jobs/${id}/events`);
  assert.equal(second.status, 429);
  assert.equal(second.headers.get('retry-after'), '5');
});

test('a client that has its share of streams open is refused with 429, and others are not', async () => {
  const clients = ['acme', 'other'].map((name) => ({ name, token: name }));
  await using served = await serveEngine({
    blueprints,
    access: { clients, workers: null, commonWorkerToken: null },
    limits: { streamsPerClient: 2 },
  });
  const acme = { 'X-Client-Token': 'acme' };
  const id = await startJob(served, 'acme');
  const whole = await open(served, `/api/v1/jobs/${id}/events`, acme);
  for (let number = 0; number < 2; number += 1) {
    const stream = await open(served, '/api/v1/events', acme);
    assert.equal(stream.status, number === 0 ? 200 : 429);
  }
  assert.equal((await open(served, '/api/v1/events', { 'X-Client-Token': 'other' })).status, 200);
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`, { headers: acme });
  await whole.rest();
  assert.equal((await open(served, '/api/v1/events', acme)).status, 200);
});
