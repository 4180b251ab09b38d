import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJobId } from './domain/job-id.ts';
import { answer, failing, ScriptedModels, World } from './fixtures/world.ts';

const clients = '[ana]\ntoken = "token-of-ana"\n[ben]\ntoken = "token-of-ben"\n';

function asked(world: World, token: string | null) {
  return async (path: string, body?: object, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`${world.server.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { 'x-client-token': token }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // What it must be, the tests say.
    const json = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, json };
  };
}

test('S-56: jobs that are started over HTTP have an id of version 4, and the API shows them as the seed does', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('rejected'), () => answer('done')),
  });
  const ask = asked(world, null);
  const key = { 'idempotency-key': 'once' };
  const started = await ask('/llm/jobs', { description: 'Fix the bug' }, key);
  assert.equal(started.status, 202);
  const id = String(started.json.job_id);
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assert.deepEqual((await ask('/llm/jobs', { description: 'Fix the bug' }, key)).json, {
    job_id: id,
  });
  await world.record(id);
  const { json: job } = await ask(`/llm/jobs/${id}`);
  assert.partialDeepStrictEqual(job, { id, status: 'Failed', state: 'Process', retry_count: 0 });
  assert.deepEqual(job.failure, { System: 'it is rejected' });
  assert.equal((await ask('/llm/jobs', { text: 'Fix it' })).status, 400);
  assert.equal((await ask(`/llm/jobs/${newJobId()}`)).status, 404);
});

test('records and totals are told over HTTP, to each client its own', async () => {
  await using world = await World.start({ clients });
  const [ana, ben] = [asked(world, 'token-of-ana'), asked(world, 'token-of-ben')];
  const { json } = await ana('/llm/jobs', { description: 'Fix the bug' });
  const id = String(json.job_id);
  await world.until(() => world.books.record(id) !== null);
  assert.partialDeepStrictEqual((await ana('/llm/audit?skill=bug_fix&limit=5')).json, {
    records: [{ job_id: id }],
  });
  assert.equal((await ana(`/llm/audit/${id}`)).json.status, 'Completed');
  assert.partialDeepStrictEqual((await ana('/llm/totals?by=tier')).json, {
    totals: [{ group: 'Haiku', jobs: 1, success_rate: 1, cost_usd: 0.001 }],
  });
  assert.deepEqual((await ben('/llm/audit')).json, { records: [] });
  assert.equal((await ben(`/llm/audit/${id}`)).status, 404);
  assert.equal((await ben(`/llm/jobs/${id}`)).status, 404);
  assert.equal((await ana('/llm/audit?since=yesterday')).status, 400);
});
