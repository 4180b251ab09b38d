import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalLinkAnswer } from '../protocol/signals-api.ts';
import type { JsonObject } from '../std/json.ts';
import { type Asked, ask } from '../testing/ask.ts';
import { readJob, startJob } from '../testing/asked-job.ts';
import { reviewBlueprint } from '../testing/review-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';

const blueprints = [reviewBlueprint];
const content = { initial_data: { plan: { title: '<script>alert(1)</script> & "more"' } } };

async function linkTo(
  { url }: ServedEngine,
  id: string,
  body: JsonObject = {},
): Promise<ApprovalLinkAnswer> {
  const { json } = await ask(url, `POST /api/v1/jobs/${id}/approval/link`, { body });
  return json as unknown as ApprovalLinkAnswer;
}

/** Sends what the form of the page sends. */
async function press(
  url: string,
  fields: Record<string, string> | string,
): Promise<Pick<Asked, 'status' | 'text'>> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, text: await response.text() };
}

test('B-036: reading a link decides nothing; the first press decides, the same again is known, the opposite 409', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review', content);
  const { url } = await linkTo(served, id);
  for (const method of ['GET', 'HEAD', 'GET']) {
    assert.equal((await ask(served.url, `${method} ${url}`)).status, 200);
  }
  assert.equal((await readJob(served.url, id)).status, 'waiting_for_human');
  const fields = { decision: 'approved', approver: 'Ana', comment: 'go' };
  const first = await press(`${served.url}${url}`, fields);
  assert.equal(first.status, 200);
  assert.match(first.text, /Decided: approved/);
  assert.partialDeepStrictEqual(await readJob(served.url, id), {
    status: 'finished',
    result: { data: { approver: 'Ana', comment: 'go', data: { via: 'link' } } },
  });
  const again = await press(`${served.url}${url}`, fields);
  assert.equal(again.status, 200);
  assert.match(again.text, /It had been decided so before/);
  const opposite = await press(`${served.url}${url}`, { decision: 'rejected' });
  assert.equal(opposite.status, 409);
  assert.match(opposite.text, /decided already: approved/);
  assert.equal((await readJob(served.url, id)).status, 'finished');
  assert.match((await ask(served.url, `GET ${url}`)).text, /Decided: approved/);
});

test('B-036: the page shows message and content as text, and nothing in it can run', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review', content);
  const { url } = await linkTo(served, id);
  const { text, headers } = await ask(served.url, `GET ${url}`);
  assert.match(text, /Shall we &lt;b&gt;go&lt;\/b&gt;\?/);
  assert.match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt; &amp; \\&quot;more\\&quot;/);
  assert.doesNotMatch(text, /<script|https?:|src=| on\w+=/);
  for (const decision of ['approved', 'rejected'])
    assert.ok(text.includes(`<button name="decision" value="${decision}">`), decision);
  assert.doesNotMatch(text, /value="timeout"/);
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; frame-/,
  );
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
});

test('B-036: a link is good for its time, its wait and its content alone', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review', content);
  const { url, expires_at } = await linkTo(served, id, { expires_in: 3_600 });
  assert.equal(expires_at, new Date(served.clock.now() + 3_600_000).toISOString());
  const [body = '', signature = ''] = url.split('/').at(-1)?.split('.') ?? [];
  const claims: string[] = JSON.parse(Buffer.from(body, 'base64url').toString());
  const longer = [...claims.slice(0, 3), String(Number(claims[3]) + 1)];
  const forged = [
    `${Buffer.from(JSON.stringify(longer)).toString('base64url')}.${signature}`,
    `${body}.${signature.slice(0, -2)}xx`,
    body,
    'x',
  ];
  for (const token of forged) {
    const answer = await press(`${served.url}/_public/approvals/${token}`, {
      decision: 'approved',
    });
    assert.equal(answer.status, 403, token);
  }
  await ask(served.url, `POST /api/v1/jobs/${id}/signals`, { body: { name: 'revised' } });
  assert.match((await ask(served.url, `GET ${url}`)).text, /no longer open/);
  assert.equal((await press(`${served.url}${url}`, { decision: 'approved' })).status, 409);
  const fresh = await linkTo(served, id, { expires_in: 60 });
  await served.clock.advance(60_000);
  const late = await press(`${served.url}${fresh.url}`, { decision: 'approved' });
  assert.equal(late.status, 403);
  assert.match(late.text, /has expired/);
  assert.equal((await readJob(served.url, id)).status, 'waiting_for_human');
});

test('B-036: a link lasts seven days by default, and needs an open question', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  const { expires_at, wait } = await linkTo(served, id);
  assert.equal(expires_at, new Date(served.clock.now() + 7 * 86_400_000).toISOString());
  const job = await readJob(served.url, id);
  assert.partialDeepStrictEqual(job.wait, { id: wait });
  await ask(served.url, `POST /api/v1/jobs/${id}/cancel`);
  const late = await ask(served.url, `POST /api/v1/jobs/${id}/approval/link`, { body: {} });
  assert.partialDeepStrictEqual(late, { status: 409, json: { code: 'DECISION_REFUSED' } });
});

test('a link begins with the public address, if the server has one', async () => {
  await using served = await serveEngine({ blueprints, publicUrl: 'https://c.example/jobs' });
  const id = await startJob(served.url, 'review');
  assert.match((await linkTo(served, id)).url, /^https:\/\/c\.example\/jobs\/_public\/approvals\//);
});

test('what a page cannot take is refused on a page', async () => {
  await using served = await serveEngine({ blueprints });
  const id = await startJob(served.url, 'review');
  const { url } = await linkTo(served, id);
  const unknown = await press(`${served.url}${url}`, { decision: '<i>other</i>' });
  assert.equal(unknown.status, 409);
  assert.match(unknown.text, /^<!doctype html>/);
  assert.match(unknown.text, /no such decision; it knows approved, rejected/);
  const empty = await press(`${served.url}${url}`, { approver: 'x' });
  assert.equal(empty.status, 400);
  assert.match(empty.text, /decision is missing/);
  const both = await press(`${served.url}${url}`, 'decision=rejected&decision=approved');
  assert.equal(both.status, 400);
  assert.match(both.text, /decision is refused: given more than once/);
  assert.equal((await readJob(served.url, id)).status, 'waiting_for_human');
  assert.equal(
    (await ask(served.url, `POST ${url}`, { body: { decision: 'approved' } })).status,
    415,
  );
  const nameless = await press(`${served.url}${url}`, { decision: 'approved', approver: ' ' });
  assert.equal(nameless.status, 200);
  assert.partialDeepStrictEqual((await readJob(served.url, id)).result, {
    data: { approver: 'link', comment: null },
  });
});
