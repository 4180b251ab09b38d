import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { approval } from '../core/wait-actions.ts';
import type { ApprovalWaitView } from '../protocol/client-api.ts';
import type { ApprovalView } from '../protocol/signals-api.ts';
import { assert as ensure } from '../std/assert.ts';
import type { JsonObject } from '../std/json.ts';
import { type Asked, ask } from '../testing/ask.ts';
import { readJob, startJob } from '../testing/asked-job.ts';
import { reviewBlueprint } from '../testing/review-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';

const blueprints = [reviewBlueprint];

function decide(url: string, id: string, body: JsonObject): Promise<Asked> {
  return ask(url, `POST /api/v1/jobs/${id}/approval`, { body });
}

async function openWait(url: string, id: string): Promise<ApprovalWaitView> {
  const { wait } = await readJob(url, id);
  ensure(wait?.type === 'approval', 'the job waits for a person');
  return wait;
}

test('A-15: a decision ends the wait, with approver, comment and data', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  const answer = await decide(served.url, id, {
    decision: 'approved',
    approver: 'Ana',
    comment: 'fine',
    data: { score: 1 },
  });
  assert.equal(answer.status, 200);
  const data = { approver: 'Ana', comment: 'fine', data: { score: 1 } };
  assert.partialDeepStrictEqual(answer.json, {
    repeated: false,
    job: { id, status: 'finished', wait: null, result: { name: 'approved', data } },
  });
  const other = await startJob(served.url, 'review');
  await decide(served.url, other, { decision: 'rejected' });
  assert.partialDeepStrictEqual(await readJob(served.url, other), {
    status: 'failed',
    answer: { name: 'rejected', data: { approver: 'dev', comment: null } },
  });
});

test('A-15: the same decision again is answered as such, the opposite one is refused', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  const { id: wait } = await openWait(served.url, id);
  await decide(served.url, id, { decision: 'approved', wait });
  assert.partialDeepStrictEqual(await decide(served.url, id, { decision: 'approved', wait }), {
    status: 200,
    json: { repeated: true, job: { status: 'finished' } },
  });
  const opposite = await decide(served.url, id, { decision: 'rejected', wait });
  assert.partialDeepStrictEqual(opposite, {
    status: 409,
    json: { code: 'DECISION_REFUSED', details: { reason: 'nothing_to_decide' } },
  });
  assert.equal(opposite.headers.get('retry-after'), null, 'an ended job asks nothing more');
});

test('S-34: where content is shown a decision names its hash, else it is refused', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review', { initial_data: { plan: { steps: 3 } } });
  const { hash, id: wait } = await openWait(served.url, id);
  const refused = async (body: JsonObject, reason: string): Promise<void> =>
    assert.partialDeepStrictEqual(await decide(served.url, id, body), {
      status: 409,
      json: { code: 'DECISION_REFUSED', details: { reason } },
    });
  await refused({ decision: 'approved' }, 'hash_missing');
  await refused({ decision: 'approved', wait }, 'hash_missing');
  await refused({ decision: 'approved', hash: 'other' }, 'decision_outdated');
  await refused({ decision: 'perhaps', hash }, 'decision_unknown');
  await refused({ decision: 'timeout', hash }, 'decision_unknown');
  const nameless = await decide(served.url, id, { decision: 'approved' });
  assert.partialDeepStrictEqual(nameless.json, {
    error: 'what is shown must be named: send hash (or revision)',
  });
  const unknown = await decide(served.url, id, { decision: 'perhaps', hash });
  assert.partialDeepStrictEqual(unknown.json, {
    error: 'The wait knows no such decision; it knows approved, rejected',
    details: { decisions: ['approved', 'rejected'] },
  });
  assert.equal((await decide(served.url, id, { decision: 'approved', hash })).status, 200);
});

test('of a finished job a decision and a link are refused in the same words', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  await decide(served.url, id, { decision: 'approved' });
  const error = `job ${id} is finished and asks nobody for a decision`;
  const details = { reason: 'nothing_to_decide', status: 'finished' };
  for (const [end, body] of [
    ['', { decision: 'approved' }],
    ['', { decision: 'approved', hash: 'other' }],
    ['/link', {}],
  ] as const) {
    const answer = await ask(served.url, `POST /api/v1/jobs/${id}/approval${end}`, { body });
    assert.partialDeepStrictEqual(answer, { status: 409, json: { error, details } });
  }
});

test('a field that is absent is said to be missing, one of the wrong type is not', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  const errorOf = async (body: JsonObject): Promise<unknown> =>
    (await decide(served.url, id, body)).json;
  assert.partialDeepStrictEqual(await errorOf({}), { error: 'decision is missing' });
  assert.partialDeepStrictEqual(await errorOf({ decision: 1 }), {
    error: 'decision is refused: invalid input: expected string, received number',
  });
});

test('the documented request to decide names the hash', async () => {
  await using served = await serveEngine({ blueprints });
  const { text } = await ask(served.url, 'GET /_public/docs');
  assert.ok(text.includes('{&quot;decision&quot;:&quot;approved&quot;,&quot;hash&quot;:'));
});

test('S-68: signals named by the wait end it, and a revision stands for the hash', async () => {
  await using served = await serveEngine({ blueprints });
  const input = { plan: 'p', revision: 'plan-7' };
  const id = await startJob(served.url, 'review', { initial_data: input });
  const before = await openWait(served.url, id);
  assert.deepEqual(before.signals, ['revised', 'withdrawn']);
  await ask(served.url, `POST /api/v1/jobs/${id}/signals`, { body: { name: 'revised' } });
  const after = await openWait(served.url, id);
  assert.notEqual(after.id, before.id);
  const late = await decide(served.url, id, { decision: 'approved', wait: before.id });
  assert.partialDeepStrictEqual(late.json, { details: { reason: 'decision_outdated' } });
  const wrong = await decide(served.url, id, { decision: 'approved', revision: 'plan-6' });
  assert.equal(wrong.status, 409);
  const right = await decide(served.url, id, { decision: 'approved', revision: 'plan-7' });
  assert.equal(right.status, 200);
});

test('A-15: what waits for a person is listed page by page, and marked when it is escalated', async () => {
  await using served = await serveEngine({ blueprints });
  const old = await startJob(served.url, 'review', { initial_data: { plan: 'p' } });
  await served.clock.advance(3_600_000);
  const fresh = await startJob(served.url, 'review');
  const done = await startJob(served.url, 'review');
  await decide(served.url, done, { decision: 'approved' });
  const first = await ask(served.url, 'GET /api/v1/approvals?limit=1');
  assert.partialDeepStrictEqual(first.json, { approvals: [{ job_id: fresh }], next: fresh });
  const second = await ask(served.url, `GET /api/v1/approvals?limit=1&before=${fresh}`);
  const { approvals, next } = second.json as unknown as { approvals: ApprovalView[]; next: null };
  assert.equal(next, null);
  const wait = await openWait(served.url, old);
  assert.deepEqual(approvals, [
    {
      job_id: old,
      blueprint: 'review',
      state: 'ask',
      wait: wait.id,
      message: 'Shall we <b>go</b>?',
      show: 'p',
      hash: wait.hash,
      revision: null,
      decisions: ['approved', 'rejected'],
      since: new Date(served.clock.now() - 3_600_000).toISOString(),
      escalated: true,
    },
  ]);
});

test('A-47: a foreign approval is neither listed nor decided', async () => {
  const clients = ['acme', 'other'].map((name) => ({ name, token: name }));
  await using served = await serveEngine({
    blueprints,
    access: { clients, workers: null, commonWorkerToken: null },
  });
  const acme = { 'X-Client-Token': 'acme' };
  const other = { 'X-Client-Token': 'other' };
  const started = await ask(served.url, 'POST /api/v1/jobs/review', { headers: acme });
  const { job_id } = started.json as { job_id: string };
  const list = await ask(served.url, 'GET /api/v1/approvals', { headers: other });
  assert.deepEqual(list.json, { approvals: [], next: null });
  const body = { decision: 'approved' };
  for (const route of [
    `POST /api/v1/jobs/${job_id}/approval`,
    `POST /_public/webhooks/approval/${job_id}`,
  ]) {
    assert.equal((await ask(served.url, route, { headers: other, body })).status, 404, route);
    assert.equal((await ask(served.url, route, { body })).status, 401, route);
  }
  const linked = await ask(served.url, `POST /api/v1/jobs/${job_id}/approval/link`, {
    headers: other,
    body: {},
  });
  assert.equal(linked.status, 404);
});

test("S-34: the seed's webhook decides what shows just a message, once", async () => {
  await using served = await serveEngine({ blueprints });
  const plain = await startJob(served.url, 'review');
  const hook = (id: string, body: JsonObject) =>
    ask(served.url, `POST /_public/webhooks/approval/${id}`, { body });
  assert.partialDeepStrictEqual(await hook(plain, { decision: 'maybe' }), {
    status: 400,
    json: { error: "Invalid decision 'maybe' for this job" },
  });
  assert.equal((await hook(plain, {})).status, 400);
  const given = await hook(plain, { decision: 'approved', security: {}, metadata: { by: 'crm' } });
  assert.deepEqual(
    [given.status, given.json],
    [200, { status: 'approval_received', job_id: plain }],
  );
  const { result } = await readJob(served.url, plain);
  assert.partialDeepStrictEqual(result, { data: { approver: 'dev', data: { by: 'crm' } } });
  assert.equal((await hook(plain, { decision: 'approved' })).status, 409);
  const shown = await startJob(served.url, 'review', { initial_data: { plan: 'p' } });
  assert.equal((await hook(shown, { decision: 'approved' })).status, 409);
  const { hash } = await openWait(served.url, shown);
  assert.equal((await hook(shown, { decision: 'approved', hash })).status, 200);
});

test('the webhook, too, waits until the server is ready', async () => {
  await using served = await serveEngine({ blueprints, start: false });
  for (const route of ['webhooks/approval/x', 'approvals/x'])
    assert.equal((await ask(served.url, `POST /_public/${route}`)).status, 503, route);
});

/** Rounds that B-034 asks for. */
const rounds = 500;

test('B-034: whoever decides inside the request that tells of it is heard, or told to come again', async () => {
  const told: { notify: (jobId: string) => Promise<void> } = { notify: async () => {} };
  const eager = blueprint({
    name: 'eager',
    version: 1,
    states: {
      tell: {
        start: true,
        to: ['done'],
        run: async (job) => {
          await told.notify(job.id);
          return approval({ message: 'Now?', on: { approved: 'done' } });
        },
      },
      done: { end: true, handle: () => finish() },
    },
  });
  await using served = await serveEngine({ blueprints: [eager] });
  const seen = { taken: 0, refused: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const answered = Promise.withResolvers<Asked>();
    const isAwaited = round % 2 === 0;
    // Every other round the telling request is over at once, so that decision and wait race.
    told.notify = (jobId) => {
      const asked = decide(served.url, jobId, { decision: 'approved' });
      answered.resolve(asked);
      return isAwaited ? asked.then(() => {}) : Promise.resolve();
    };
    const id = await startJob(served.url, 'eager');
    const { status, headers, json } = await answered.promise;
    if (status === 200) seen.taken += 1;
    else {
      seen.refused += 1;
      assert.partialDeepStrictEqual(json, { code: 'DECISION_REFUSED' });
      assert.equal(headers.get('retry-after'), '1');
      await settledIn(served, id, 'waiting_for_human');
      assert.equal((await decide(served.url, id, { decision: 'approved' })).status, 200);
    }
    assert.equal((await readJob(served.url, id)).status, 'finished');
  }
  assert.ok(seen.refused >= rounds / 2, `refused ${seen.refused}, taken ${seen.taken}`);
});

/** Resolves when the job has come to this status. */
async function settledIn(
  { engine, store }: Awaited<ReturnType<typeof serveEngine>>,
  id: string,
  status: string,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    if ((await store.job(id))?.status === status) resolve();
  };
  const forget = engine.events.subscribe((jobId) => {
    if (jobId === id) void look();
  });
  await look();
  await promise;
  forget();
}
