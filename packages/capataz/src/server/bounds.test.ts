/** What is too much for one answer or one body, and callers and stores that break off. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { CapatazError } from '../protocol/errors.ts';
import { silentLog } from '../std/log.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';

const blueprints = [echoBlueprint];
const large = 'x'.repeat(3_900_000);

test('a page of jobs is cut at 16 Mi characters, and the next ones have the rest', async () => {
  await using served = await serveEngine({ blueprints });
  const started: string[] = [];
  for (let number = 0; number < 6; number += 1) {
    const body = { initial_data: { text: large } };
    const { json } = await ask(served.url, 'POST /api/v1/jobs/echo', { body });
    started.push((json as { job_id: string }).job_id);
  }
  const first = await ask(served.url, 'GET /api/v1/jobs?limit=200');
  const page = first.json as unknown as { jobs: { id: string }[]; next: string | null };
  const ids = page.jobs.map(({ id }) => id);
  assert.deepEqual([ids.length, page.next], [4, ids.at(-1)]);
  const second = await ask(served.url, `GET /api/v1/jobs?limit=200&before=${page.next}`);
  const rest = second.json as unknown as typeof page;
  assert.equal(rest.next, null);
  ids.push(...rest.jobs.map(({ id }) => id));
  assert.deepEqual(ids, started.toReversed());
});

test('a page of a history is cut in the same way, and has one entry in any case', async () => {
  await using served = await serveEngine({ blueprints });
  const { json } = await ask(served.url, 'POST /api/v1/jobs/echo', { body: {} });
  const { job_id: jobId } = json as { job_id: string };
  const after = (await served.store.history(jobId, 0, 99)).length;
  const entry = { type: 'signal_refused', reason: large.repeat(3) } as const;
  await served.store.commit({ notes: [{ jobId, entries: [entry, entry, entry] }] });
  for (const next of [after + 1, after + 2, null]) {
    const from = next === null ? after + 2 : next - 1;
    const answer = await ask(served.url, `GET /api/v1/jobs/${jobId}/history?after=${from}`);
    const page = answer.json as unknown as { history: { seq: number }[]; next: number | null };
    assert.deepEqual([page.history.map(({ seq }) => seq), page.next], [[from + 1], next]);
  }
});

test('a body with more values than can be taken in is refused with 413', async () => {
  await using served = await serveEngine({ blueprints });
  const rawBody = `{"initial_data":[${'{},'.repeat(200_000)}{}]}`;
  const answer = await ask(served.url, 'POST /api/v1/jobs/echo', { rawBody });
  assert.equal(answer.status, 413);
  assert.partialDeepStrictEqual(answer.json, { code: 'PAYLOAD_TOO_LARGE' });
});

test('a caller that hangs up in mid-body is no error of the server', async () => {
  const told = Promise.withResolvers<string>();
  const log = {
    ...silentLog,
    debug: (message: string) => told.resolve(message),
    error: (message: string) => told.reject(new Error(message)),
  };
  await using served = await serveEngine({ blueprints, log });
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
  socket.write(
    'POST /api/v1/jobs/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"',
    () => socket.destroy(),
  );
  assert.match(await told.promise, /hung up/);
});

test('what a database can keep in no index is refused: U+0000 in a path, an attribute with a long name', async () => {
  await using served = await serveEngine({ blueprints });
  for (const path of ['jobs/a%00b', 'jobs?state=%00', 'jobs/a%00/history', 'approvals?before=%00'])
    assert.partialDeepStrictEqual(await ask(served.url, `GET /api/v1/${path}`), {
      status: 400,
      json: { code: 'MALFORMED_REQUEST' },
    });
  const attributes = { ['x'.repeat(201)]: 1 };
  const refused = await ask(served.url, 'POST /api/v1/jobs/echo', { body: { attributes } });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.json), /longer than 200 characters: xxx/);
});

test('/_public/ready is 503 while the store refuses writes; what reads is answered', async () => {
  await using served = await serveEngine({ blueprints });
  const { store, url } = served;
  const commit = store.commit.bind(store);
  store.commit = () => Promise.reject(new CapatazError('STORE_UNAVAILABLE', 'the disk is full'));
  assert.equal((await ask(url, 'POST /api/v1/jobs/echo', { body: {} })).status, 503);
  assert.partialDeepStrictEqual(await ask(url, 'GET /_public/ready'), {
    status: 503,
    json: { code: 'STORE_UNAVAILABLE' },
  });
  assert.equal((await ask(url, 'GET /api/v1/jobs')).status, 200);
  store.commit = commit;
  await served.clock.advance(1_000);
  assert.equal((await ask(url, 'GET /_public/ready')).status, 200);
});
