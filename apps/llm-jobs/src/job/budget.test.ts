/** Budgets are reserved before a call, in the commit that plans it, and settled by the one that judges it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from 'capataz/testing';
import { modelsFile } from '../fixtures/fake-world.ts';
import { answer, failing, ScriptedModels, usage, World } from '../fixtures/world.ts';
import { unknownUsage } from '../models/contract.ts';

/** 14 characters and what is around them: 30 tokens of input at the most, 4,096 of output. */
const input = { description: 'Look at it now', model: 'sonnet' };
/** At 3.75 (a cache write) and 15 USD for a million. */
const most = (30 * 3.75 + 4_096 * 15) / 1e6;
/** 100 in and 10 out, at 3 and 15. */
const spent = (100 * 3 + 10 * 15) / 1e6;

/** The first call is answered when it is let go, the others at once. */
function heldAtFirst() {
  const held = Promise.withResolvers<void>();
  const first = async () => {
    await held.promise;
    return answer('done');
  };
  return { held, models: new ScriptedModels(first, () => answer('done')) };
}

test('S-82: the most that a call can cost is reserved, and what it did not use is free for the next', async () => {
  const { models, held } = heldAtFirst();
  // Room for one call and a little.
  await using world = await World.start({
    models,
    settings: { budgetMonthUsd: Number((most + 2 * spent).toFixed(9)), overBudget: 'fail' },
  });
  const first = await world.begin(input);
  await world.until(() => models.calls.length === 1);
  const refused = await world.run(input);
  assert.match(JSON.stringify(refused.extra.error), /the budget has no 0\.0615525 USD left/);
  assert.equal(refused.extra.permanent, true);
  held.resolve();
  assert.equal((await world.record(first)).extra.booked_usd, spent);
  assert.equal((await world.run(input)).status, 'Completed');
  assert.equal((await world.run(input)).status, 'Completed');
  // Three have spent more than the room that was left beside one reservation.
  assert.equal((await world.run(input)).status, 'Failed');
});

test('S-82: usage that is unknown counts as all that was reserved, while the booked cost stays unknown', async () => {
  await using world = await World.start({
    models: new ScriptedModels(() => answer('done', { usage: unknownUsage })),
    settings: { budgetMonthUsd: Number((1.5 * most).toFixed(9)), overBudget: 'fail' },
  });
  const first = await world.run(input);
  assert.deepEqual(
    [first.status, first.extra.booked_usd, first.extra.unknown_calls],
    ['Completed', null, 1],
  );
  assert.equal((await world.run(input)).status, 'Failed');
});

test('S-82: failed calls count, too, and each retry reserves anew', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('malformed', { usage: usage(100, 10) })),
    settings: { budgetJobUsd: Number((most + 1.5 * spent).toFixed(9)), overBudget: 'fail' },
  });
  const record = await world.run(input);
  // After two calls there is no room for a third.
  assert.deepEqual([record.extra.llm_calls, record.extra.booked_usd], [2, 2 * spent]);
  assert.match(JSON.stringify(record.extra.error), /which call 3 may cost/);
});

test('S-82: each client has a budget of its own, and each month, too', async () => {
  await using world = await World.start({
    clock: new VirtualClock({ now: Date.UTC(2026, 0, 31, 23, 59) }),
    settings: { budgetClientUsd: Number(most.toFixed(9)), overBudget: 'fail' },
  });
  const statuses = [(await world.run(input)).status, (await world.run(input)).status];
  assert.deepEqual(statuses, ['Completed', 'Failed']);
  await world.advance(59_000);
  assert.equal((await world.run(input)).status, 'Failed');
  await world.advance(1_000);
  assert.equal((await world.run(input)).status, 'Completed');
});

test('S-82: with `pause` the job waits for a person, who lets it go on or not', async () => {
  for (const decision of ['approved', 'rejected']) {
    await using world = await World.start({ settings: { budgetMonthUsd: 0.000001 } });
    const id = await world.begin(input);
    await world.until(async () => (await world.view(id)).status === 'waiting_for_human');
    const { wait } = await world.view(id);
    assert.ok(wait?.type === 'approval');
    assert.partialDeepStrictEqual(wait.show, { most_usd: '0.0615525', spent_usd: '0' });
    assert.equal(world.models.calls.length, 0);
    await world.client.approvals.decide(id, decision, { hash: wait.hash });
    const record = await world.record(id);
    if (decision === 'approved')
      assert.deepEqual([record.status, record.extra.llm_calls], ['Completed', 1]);
    else assert.match(JSON.stringify(record.extra.error), /a person has refused/);
  }
});

test('S-82: with `cheaper` the next tier below is asked, and with none left the job fails', async () => {
  const settings = { overBudget: 'cheaper' } as const;
  await using world = await World.start({ settings: { ...settings, budgetJobUsd: 0.03 } });
  const record = await world.run({ ...input, model: 'opus' });
  // 4,096 tokens of output: 0.1 USD of Opus, 0.06 of Sonnet, 0.02 of Haiku.
  assert.deepEqual(
    [record.status, record.agent?.model, record.cost_usd],
    ['Completed', 'Haiku', 0.001],
  );
  await using poor = await World.start({ settings: { ...settings, budgetJobUsd: 0.01 } });
  const failed = await poor.run({ ...input, model: 'opus' });
  assert.match(JSON.stringify(failed.extra.error), /there is no cheaper tier/);
});

test('S-82: a model without a known price can be put to no budget', async () => {
  const noPrice = '[tiers.Sonnet]\nmodel = "anthropic/new"\ncost_usd = 0.005\n';
  const prepare = (folder: string) => ({ models: modelsFile(folder, noPrice) });
  await using world = await World.start({
    prepare,
    settings: { budgetMonthUsd: 100, overBudget: 'fail' },
  });
  const record = await world.run(input);
  assert.match(JSON.stringify(record.extra.error), /the price of anthropic\/new is not known/);
  await using free = await World.start({ prepare });
  const unbooked = await free.run(input);
  assert.deepEqual([unbooked.status, unbooked.extra.booked_usd], ['Completed', null]);
});

test('S-82: what a cancelled job may have spent in its last call stays taken from the budget', async () => {
  const models = new ScriptedModels(
    ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', reject)),
    () => answer('done'),
  );
  await using world = await World.start({
    models,
    settings: { budgetMonthUsd: Number((1.5 * most).toFixed(9)), overBudget: 'fail' },
  });
  const id = await world.begin(input);
  await world.until(() => models.calls.length === 1);
  await world.client.jobs.cancel(id);
  const record = await world.record(id);
  assert.deepEqual([record.extra.unknown_calls, record.extra.booked_usd], [1, null]);
  assert.equal((await world.run(input)).status, 'Failed');
});

test('S-78: a call that waited for its place when its job was cancelled was never sent, and stands in no book', async () => {
  const { models, held } = heldAtFirst();
  await using world = await World.start({
    models,
    settings: {
      concurrency: 1,
      budgetMonthUsd: Number((2.5 * most).toFixed(9)),
      overBudget: 'fail',
    },
  });
  const first = await world.begin(input);
  await world.until(() => models.calls.length === 1);
  const id = await world.begin(input);
  await world.until(async () => (await world.view(id)).state === 'Admission');
  await world.client.jobs.cancel(id);
  const record = await world.record(id);
  assert.deepEqual([record.extra.llm_calls, record.extra.booked_usd], [0, 0]);
  held.resolve();
  await world.ended(first);
  // Nothing is taken for it: there is room for this one and its like.
  assert.equal((await world.run(input)).status, 'Completed');
  assert.equal((await world.run(input)).status, 'Completed');
  assert.deepEqual(
    world.books.calls(id).map(({ outcome }) => outcome),
    [],
  );
});

test('rates of a provider are kept over all jobs: calls at once, requests and tokens within a minute', async () => {
  let atOnce = 0;
  let highest = 0;
  const models = new ScriptedModels(async () => {
    atOnce += 1;
    highest = Math.max(highest, atOnce);
    await new Promise(setImmediate);
    atOnce -= 1;
    return answer('done');
  });
  await using world = await World.start({
    models,
    settings: { concurrency: 2, requestsPerMinute: 4 },
  });
  const ids = await Promise.all(Array.from({ length: 9 }, () => world.begin(input)));
  await world.until(() => models.calls.length === 4);
  for (const id of ids) await world.ended(id);
  assert.equal(highest, 2);
  const times = models.calls.map(({ at }) => at).sort((one, other) => one - other);
  // The fifth after each call comes a minute later at the earliest.
  for (const [index, at] of times.slice(4).entries())
    assert.ok(at - (times[index] ?? 0) >= 60_000, String(times));
  const slow = new ScriptedModels();
  // 30 + 4,096 tokens may be used, 110 are.
  await using few = await World.start({ models: slow, settings: { tokensPerMinute: 4_300 } });
  const some = [await few.begin(input), await few.begin(input), await few.begin(input)];
  for (const id of some) await few.ended(id);
  const [one = 0, , three = 0] = slow.calls.map(({ at }) => at);
  assert.ok(three - one >= 60_000, String(slow.gaps));
});
