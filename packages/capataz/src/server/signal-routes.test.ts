import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { holding } from '../core/share-actions.ts';
import { stay, waitFor } from '../core/wait-actions.ts';
import { ask } from '../testing/ask.ts';
import { readJob, startJob } from '../testing/asked-job.ts';
import { serveEngine } from '../testing/served-engine.ts';

/** Registers the key `deploy-<input>` and counts its ticks until it hears `ready`. */
const deployment = blueprint({
  name: 'deployment',
  version: 1,
  states: {
    listen: {
      start: true,
      to: ['done', 'late'],
      handle: (job) =>
        holding(waitFor({ on: { ready: 'done', timeout: 'late' }, deadline: '1h' }), {
          keys: [`deploy-${job.input}`],
        }),
      on: {
        tick: stay((data) => {
          data.ticks = Number(data.ticks ?? 0) + 1;
        }),
      },
    },
    done: { end: true, handle: (job) => finish({ heard: job.answer?.data ?? null }) },
    late: { end: 'failed' },
  },
});
const blueprints = [deployment];
const unknownId = '11111111-2222-4333-8444-555555555555';

test('S-59: a signal goes to a job, and the same id again changes nothing', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'deployment', { initial_data: 'a' });
  const route = `POST /api/v1/jobs/${id}/signals`;
  const first = await ask(served.url, route, { body: { name: 'tick', id: 's1' } });
  assert.deepEqual([first.status, first.json], [200, { status: 'accepted', id: 's1' }]);
  const again = await ask(served.url, route, { body: { name: 'tick', id: 's1' } });
  assert.deepEqual([again.status, again.json], [200, { status: 'accepted', id: 's1' }]);
  const headers = { 'Idempotency-Key': 's2' };
  for (let round = 0; round < 2; round += 1) {
    const { json } = await ask(served.url, route, { body: { name: 'tick' }, headers });
    assert.deepEqual(json, { status: 'accepted', id: 's2' });
  }
  assert.deepEqual((await readJob(served.url, id)).data, { ticks: 2 });
  const made = await ask(served.url, route, { body: { name: 'ready', data: { url: 'x' } } });
  assert.match((made.json as { id: string }).id, /^[0-9a-f-]{36}$/);
  assert.partialDeepStrictEqual(await readJob(served.url, id), {
    status: 'finished',
    result: { heard: { url: 'x' } },
    answer: { name: 'ready' },
  });
});

test('S-59: a signal that is not expected, or for an ended or unknown job, is refused', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'deployment');
  const send = (to: string, name: string) =>
    ask(served.url, `POST /api/v1/jobs/${to}/signals`, { body: { name } });
  assert.partialDeepStrictEqual(await send(id, 'other'), {
    status: 409,
    json: { code: 'SIGNAL_REFUSED', details: { reason: 'signal_not_expected' } },
  });
  const book = await served.store.history(id, 0, 100);
  assert.ok(book.some(({ type, actor }) => type === 'signal_refused' && actor === 'dev'));
  assert.partialDeepStrictEqual(await send(unknownId, 'tick'), {
    status: 404,
    json: { code: 'JOB_NOT_FOUND' },
  });
  assert.equal((await send(id, 'ready')).status, 200);
  assert.partialDeepStrictEqual(await send(id, 'tick'), {
    status: 409,
    json: { code: 'ALREADY_FINAL' },
  });
  const bad = await ask(served.url, `POST /api/v1/jobs/${id}/signals`, { body: { nam: 'x' } });
  assert.equal(bad.status, 400);
});

test('S-59: a batch answers in order: to jobs, to keys, kept for later, refused', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'deployment', { initial_data: 'a' });
  const { status, json } = await ask(served.url, 'POST /api/v1/signals', {
    headers: { 'Idempotency-Key': 'batch' },
    body: [
      { job_id: id.toUpperCase(), name: 'tick', id: 't1' },
      { key: 'deploy-a', name: 'tick' },
      { key: 'deploy-b', name: 'ready', id: 'r', data: 1, keep_for: 60 },
      { key: 'deploy-c', name: 'ready', id: 'n' },
      { name: 'tick' },
      { job_id: id, key: 'deploy-a', name: 'tick' },
      { job_id: unknownId, name: 'tick' },
      { job_id: id, name: 'tick', keep_for: 1 },
    ],
  });
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(json, [
    { status: 'accepted', id: 't1', job_ids: [id] },
    { status: 'accepted', id: 'batch#1', job_ids: [id] },
    { status: 'kept', id: 'r', job_ids: [] },
    { status: 'refused', code: 'JOB_NOT_FOUND' },
    { status: 'refused', code: 'VALIDATION_FAILED' },
    { status: 'refused', code: 'VALIDATION_FAILED' },
    { status: 'refused', code: 'JOB_NOT_FOUND' },
    { status: 'refused', code: 'VALIDATION_FAILED' },
  ]);
  assert.deepEqual((await readJob(served.url, id)).data, { ticks: 2 });
  const late = await startJob(served.url, 'deployment', { initial_data: 'b' });
  await served.clock.advance(0);
  assert.deepEqual((await readJob(served.url, late)).result, { heard: 1 });
});

test('S-59: a batch has 1 to 1,000 signals', async () => {
  await using served = await serveEngine({ blueprints });
  const sized = (length: number) =>
    ask(served.url, 'POST /api/v1/signals', {
      body: Array.from({ length }, () => ({ key: 'k', name: 'n' })),
    });
  assert.equal((await sized(0)).status, 400);
  assert.equal((await sized(1_001)).status, 400);
  const most = await sized(1_000);
  assert.equal(most.status, 200);
  assert.equal((most.json as unknown[]).length, 1_000);
});

test('A-47: jobs and keys of another client are not there', async () => {
  const clients = ['acme', 'other'].map((name) => ({ name, token: name }));
  await using served = await serveEngine({
    blueprints,
    access: { clients, workers: null, commonWorkerToken: null },
  });
  const headers = { 'X-Client-Token': 'acme' };
  const started = await ask(served.url, 'POST /api/v1/jobs/deployment', {
    headers,
    body: { initial_data: 'a' },
  });
  const { job_id } = started.json as { job_id: string };
  const { json } = await ask(served.url, 'POST /api/v1/signals', {
    headers: { 'X-Client-Token': 'other' },
    body: [
      { job_id, name: 'ready' },
      { key: 'deploy-a', name: 'ready' },
    ],
  });
  assert.partialDeepStrictEqual(json, [{ code: 'JOB_NOT_FOUND' }, { code: 'JOB_NOT_FOUND' }]);
  const job = await ask(served.url, `GET /api/v1/jobs/${job_id}`, { headers });
  assert.partialDeepStrictEqual(job.json, { status: 'waiting_for_event' });
});
