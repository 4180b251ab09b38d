import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError, createClient } from 'capataz/client';
import { parkedBlueprint } from '../testing/parked-blueprint.ts';
import { reviewBlueprint } from '../testing/review-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';

const blueprints = [reviewBlueprint, parkedBlueprint];

test('A-15: approvals are listed, decided and linked to', async () => {
  await using served = await serveEngine({ blueprints });
  const { jobs, approvals } = createClient({ url: served.url });
  const ids: string[] = [];
  for (let number = 0; number < 3; number += 1)
    ids.push((await jobs.start('review', { plan: number })).jobId);
  const seen: string[] = [];
  for await (const { job_id } of approvals.all({ limit: 2 })) seen.push(job_id);
  assert.deepEqual(seen, ids.toReversed());
  const [third, second] = (await approvals.list({ limit: 2 })).approvals;
  assert.ok(third !== undefined && second !== undefined);
  const { wait, hash } = third;
  const options = { wait, hash, approver: 'Ana', comment: 'c', data: { a: 1 } };
  const { job, repeated } = await approvals.approve(third.job_id, options);
  assert.deepEqual([job.status, repeated], ['finished', false]);
  assert.equal((await approvals.approve(third.job_id, options)).repeated, true);
  await assert.rejects(approvals.reject(third.job_id, options), { code: 'DECISION_REFUSED' });
  await assert.rejects(approvals.decide(second.job_id, 'approved'), { code: 'DECISION_REFUSED' });
  await approvals.reject(second.job_id, { hash: second.hash });
  const [first = ''] = ids;
  const { url } = await approvals.link(first, { expiresIn: '1h' });
  assert.ok(url.startsWith(`${served.url}/_public/approvals/`));
  assert.equal((await fetch(url)).status, 200);
});

test('S-59: signals are sent to one job, and several at once', async () => {
  await using served = await serveEngine({ blueprints });
  const { jobs, signals } = createClient({ url: served.url });
  const { jobId } = await jobs.start('review');
  const sent = await jobs.signal(jobId, 'revised', { n: 1 }, { signalId: 's1' });
  assert.deepEqual(sent, { status: 'accepted', id: 's1' });
  const [again, kept, refused, last] = await signals.send([
    { jobId, name: 'revised', signalId: 's1' },
    { key: 'k', name: 'n', signalId: 's2', keepFor: '1m' },
    { key: 'k2', name: 'n' },
    { jobId, name: 'withdrawn', data: null },
  ]);
  assert.deepEqual(again, { status: 'accepted', signalId: 's1', jobIds: [jobId] });
  assert.deepEqual(kept, { status: 'kept', signalId: 's2', jobIds: [] });
  assert.ok(refused instanceof CapatazError);
  assert.equal(refused.code, 'JOB_NOT_FOUND');
  assert.partialDeepStrictEqual(last, { status: 'accepted' });
  assert.equal((await jobs.get(jobId)).status, 'failed');
  await assert.rejects(jobs.signal(jobId, 'revised'), { code: 'ALREADY_FINAL' });
});

test('A-25: quarantined jobs are dismissed; jobs are found by attributes and limited by a key', async () => {
  await using served = await serveEngine({ blueprints });
  const { jobs } = createClient({ url: served.url });
  const concurrency = { key: 'k', limit: 1, onBusy: 'skip' } as const;
  const { jobId } = await jobs.start('parked', {}, { concurrency, attributes: { n: '7', m: 7 } });
  await served.clock.advance(0);
  await assert.rejects(jobs.start('parked', {}, { concurrency }), { code: 'SKIPPED' });
  const found = await jobs.list({ attributes: { n: '7', m: 7 }, status: ['quarantined'] });
  assert.deepEqual(
    found.jobs.map(({ id }) => id),
    [jobId],
  );
  assert.deepEqual((await jobs.list({ attributes: { n: 7 } })).jobs, []);
  assert.equal((await jobs.dismiss(jobId, { reason: 'old' })).status, 'failed');
  await jobs.start('parked', {}, { concurrency });
});
