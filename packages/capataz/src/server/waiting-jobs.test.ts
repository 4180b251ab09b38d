import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, sleep } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { child, parallel } from '../core/wait-actions.ts';
import type { JobView } from '../protocol/client-api.ts';
import { ask } from '../testing/ask.ts';
import { readJob, startJob } from '../testing/asked-job.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { reviewBlueprint } from '../testing/review-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';

const nap = blueprint({
  name: 'nap',
  version: 1,
  states: {
    rest: { start: true, to: ['done'], handle: () => sleep('1h', 'done') },
    done: { end: true },
  },
});

const family = blueprint({
  name: 'family',
  version: 1,
  states: {
    begin: {
      start: true,
      to: ['done', 'gone'],
      handle: () => child('nap', {}, { on: { success: 'done', failure: 'gone' } }),
    },
    done: { end: true },
    gone: { end: 'failed' },
  },
});

const fan = blueprint({
  name: 'fan',
  version: 1,
  states: {
    spread: {
      start: true,
      to: ['collect'],
      handle: () =>
        parallel([1, 2].map((n) => dispatch('echo', { n }, { on: { success: 'collect' } }))),
    },
    collect: { aggregate: true, to: ['done'], handle: () => sleep('1h', 'done') },
    done: { end: true },
  },
});

/** Parked by its first run, good after that. */
function parking() {
  let runs = 0;
  return blueprint({
    name: 'parking',
    version: 1,
    states: {
      work: {
        start: true,
        end: true,
        retry: { max: 0, then: 'quarantine' },
        run: async () => {
          runs += 1;
          if (runs === 1) throw new Error('no luck');
          return finish();
        },
      },
    },
  });
}

const blueprints = [nap, family, fan, echoBlueprint, reviewBlueprint];

test('A-16: parent and child name each other, and a cancel of the parent reaches the child', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'family');
  const parent = await readJob(served.url, id);
  assert.equal(parent.status, 'waiting_for_child');
  assert.equal(parent.wait?.type, 'child');
  const childId = parent.wait?.type === 'child' ? parent.wait.job_id : '';
  assert.partialDeepStrictEqual(await readJob(served.url, childId), {
    parent: id,
    blueprint: 'nap',
    wait: { type: 'timer', key: null },
  });
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`);
  await served.clock.advance(0);
  assert.equal((await readJob(served.url, childId)).status, 'cancelled');
});

async function echoOnce({ url }: ServedEngine): Promise<void> {
  const task = await ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  const { job_id, task_id } = task.json as { job_id: string; task_id: string };
  await ask(url, 'POST /_worker/tasks/result', {
    headers: { 'X-Worker-ID': 'w1' },
    body: { job_id, task_id, data: { by: task_id } },
  });
}

test('a job shows what it waits for, and what a fan-out brought', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'fan');
  assert.deepEqual((await readJob(served.url, id)).wait, {
    type: 'parallel',
    count: 2,
    to: 'collect',
  });
  await ask(served.url, 'POST /_worker/workers/register', {
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  await echoOnce(served);
  await echoOnce(served);
  await served.clock.advance(0);
  const { results } = await readJob(served.url, id);
  assert.partialDeepStrictEqual(Object.values(results ?? {}), [
    { index: 0, skill: 'echo', status: 'success', error: null },
    { index: 1, skill: 'echo', status: 'success', error: null },
  ]);
  const task = await readJob(served.url, await startJob(served.url, 'echo'));
  assert.equal(task.wait?.type, 'task');
});

test('A-25: quarantined jobs are listed with error and place, redriven and dismissed', async () => {
  await using served = await serveEngine({ blueprints: [parking()] });
  const id = await startJob(served.url, 'parking');
  await served.clock.advance(0);
  const list = await ask(served.url, 'GET /api/v1/jobs?status=quarantined');
  const { jobs } = list.json as unknown as { jobs: JobView[] };
  assert.partialDeepStrictEqual(jobs, [
    { id, error: { message: 'no luck' }, resume: { type: 'handler', state: 'work' } },
  ]);
  await ask(served.url, `POST /api/v1/jobs/${id}/redrive`);
  await served.clock.advance(0);
  assert.equal((await readJob(served.url, id)).status, 'finished');
  assert.ok((await served.store.history(id, 0, 100)).some(({ type }) => type === 'job_redriven'));
});

test('A-25: a dismissed job ends as failed with the error that parked it', async () => {
  await using served = await serveEngine({ blueprints: [parking()] });
  const id = await startJob(served.url, 'parking');
  await served.clock.advance(0);
  const route = `POST /api/v1/jobs/${id}/dismiss`;
  const answer = await ask(served.url, route, { body: { reason: 'too old' } });
  assert.equal(answer.status, 200);
  assert.partialDeepStrictEqual(answer.json, {
    status: 'failed',
    error: { message: 'no luck' },
    resume: null,
  });
  const book = await served.store.history(id, 0, 100);
  const entry = book.find(({ type }) => type === 'job_dismissed');
  assert.partialDeepStrictEqual(entry, { actor: 'dev', reason: 'too old' });
  assert.partialDeepStrictEqual(await ask(served.url, route), {
    status: 409,
    json: { code: 'ALREADY_FINAL' },
  });
});

test('jobs are found by their attributes, values as JSON where they are that', async () => {
  await using served = await serveEngine({ blueprints });
  const a = await startJob(served.url, 'echo', { attributes: { team: 'blue', level: 7 } });
  const b = await startJob(served.url, 'echo', { attributes: { team: 'blue', level: '7' } });
  const found = async (query: string): Promise<string[]> => {
    const { json } = await ask(served.url, `GET /api/v1/jobs?${query}`);
    return (json as unknown as { jobs: JobView[] }).jobs.map(({ id }) => id);
  };
  assert.deepEqual(await found('attr.team=blue'), [b, a]);
  assert.deepEqual(await found('attr.team=blue&attr.level=7'), [a]);
  assert.deepEqual(await found('attr.level=%227%22&status=waiting_for_worker'), [b]);
  assert.deepEqual(await found('attr.team=red'), []);
  assert.equal((await ask(served.url, 'GET /api/v1/jobs?attr.=1')).status, 400);
  assert.equal((await ask(served.url, 'GET /api/v1/jobs?attr.a=1&attr.a=2')).status, 400);
});

test('S-33: a full concurrency key queues, skips or refuses a start', async () => {
  await using served = await serveEngine({ blueprints });
  const start = (on_busy: string | null) =>
    ask(served.url, 'POST /api/v1/jobs/nap', {
      body: { concurrency: { key: 'k', limit: 1, ...(on_busy === null ? {} : { on_busy }) } },
    });
  const first = await start(null);
  assert.equal(first.status, 202);
  const { job_id } = first.json as { job_id: string };
  assert.deepEqual((await readJob(served.url, job_id)).concurrency, {
    key: 'k',
    limit: 1,
    on_busy: 'queue',
  });
  assert.partialDeepStrictEqual(await start('skip'), { status: 409, json: { code: 'SKIPPED' } });
  assert.partialDeepStrictEqual(await start('refuse'), { status: 429, json: { code: 'LIMIT' } });
  const queued = await start('queue');
  const waiting = (queued.json as { job_id: string }).job_id;
  assert.partialDeepStrictEqual(await readJob(served.url, waiting), {
    status: 'pending',
    wait: { type: 'timer', key: 'k' },
  });
  await ask(served.url, `POST /api/v1/jobs/${job_id}/cancel`);
  await served.clock.advance(0);
  assert.equal((await readJob(served.url, waiting)).status, 'waiting_for_timer');
  const wrong = await ask(served.url, 'POST /api/v1/jobs/nap', {
    body: { concurrency: { key: '', limit: 0, on_busy: 'x' } },
  });
  assert.equal(wrong.status, 400);
});
