/** How long is waited before a call is made again, and where it goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Behaviour } from '../fake-provider/script.ts';
import { FakeWorld, modelsFile } from '../fixtures/fake-world.ts';
import { answer, failing, ScriptedModels, World } from '../fixtures/world.ts';

const jittered = { jitterPercent: 10 };

test('W-17: any base is doubled each time, and a fourth retry waits eight times as long', async () => {
  await using world = await World.start({ models: new ScriptedModels(failing('timeout')) });
  await world.run({ description: 'Fix it', max_retries: 4 });
  assert.deepEqual(world.models.gaps, [1_000, 2_000, 4_000, 8_000]);
  await using quick = await World.start({ models: new ScriptedModels(failing('timeout')) });
  await quick.run({ description: 'Fix it', base_delay_ms: 10 });
  assert.deepEqual(quick.models.gaps, [10, 20, 40]);
});

test('W-j: a wait is no longer than the cap, unless that is off', async () => {
  const input = { description: 'Fix it', max_retries: 2, base_delay_ms: 50_000 };
  for (const [maxDelay, gaps] of [
    [60_000, [50_000, 60_000]],
    [0, [50_000, 100_000]],
  ] as const) {
    await using world = await World.start({
      models: new ScriptedModels(failing('timeout')),
      settings: { maxDelay },
    });
    await world.run(input);
    assert.deepEqual(world.models.gaps, gaps);
  }
});

test('W-k: the seed’s table holds exactly unless jitter is asked for', async () => {
  const gapsWith = async (jitterPercent: number): Promise<number[]> => {
    await using world = await World.start({
      models: new ScriptedModels(failing('timeout')),
      settings: { jitterPercent },
    });
    await world.run('Fix it');
    return world.models.gaps;
  };
  assert.deepEqual(await gapsWith(0), [1_000, 2_000, 4_000]);
  const moved = await gapsWith(10);
  assert.notDeepEqual(moved, [1_000, 2_000, 4_000]);
  for (const [index, gap] of moved.entries())
    assert.ok(Math.abs(gap / (1_000 * 2 ** index) - 1) <= 0.1, String(moved));
});

test('W-l, S-79: retry-after is waited for where it is longer than the backoff, also beyond the cap', async () => {
  await using world = await World.start({
    models: new ScriptedModels(
      failing('rate_limited', { retryAfterMs: 7_000 }),
      failing('rate_limited', { retryAfterMs: 90_000 }),
      failing('rate_limited', { retryAfterMs: 1 }),
      () => answer('done'),
    ),
  });
  await world.run('Fix it');
  assert.deepEqual(world.models.gaps, [7_000, 90_000, 4_000]);
});

test('S-79: a provider that asks for more than max_retry_after is not waited for', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('rate_limited', { retryAfterMs: 3_600_001 })),
  });
  const record = await world.run('Fix it');
  assert.equal(world.models.calls.length, 1);
  assert.deepEqual(record.extra.error, {
    System: 'it is rate_limited; the provider asks for a wait of 3601 s, which is more than 3600 s',
  });
});

test('W-r: a base delay of 0 is accepted and waits for nothing; more than 100 retries are refused', async () => {
  await using world = await World.start({ models: new ScriptedModels(failing('timeout')) });
  const many = await world.run({ description: 'Fix it', max_retries: 100, base_delay_ms: 0 });
  assert.deepEqual([many.status, many.retry_count, many.extra.llm_calls], ['Failed', 100, 101]);
  assert.ok(many.duration_ms <= 101);
  const refused = await world.run({ description: 'Fix it', max_retries: 101 });
  assert.deepEqual(refused.extra.error, {
    Business: 'max_retries: 101 is no whole number from 0 to 100',
  });
});

const fallback = `
  [tiers.Sonnet]
  fallback = ["Opus", "local/small"]
`;

test('S-81: each step of a fallback chain is a retry, and the flat price is that of the tier asked last', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('unavailable', { retryAfterMs: 50_000 }), () =>
      answer('done'),
    ),
    prepare: (folder) => ({ models: modelsFile(folder, fallback) }),
  });
  const record = await world.run({ description: 'Look at it', model: 'sonnet' });
  const asked = world.models.calls.map(({ model }) => model);
  assert.deepEqual(asked, ['claude-sonnet-4-5-20250929', 'claude-opus-4-6']);
  assert.deepEqual([record.retry_count, record.agent?.model, record.cost_usd], [1, 'Opus', 0.05]);
  // What one provider asks for is no matter of the next step.
  assert.deepEqual(world.models.gaps, [1_000]);
});

test('S-81: a chain goes on after the failures that the file names, permanent ones included', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('rejected'), failing('rejected')),
    prepare: (folder) => ({
      models: modelsFile(folder, `fallback_on = ["system", "permanent"]\n${fallback}`),
    }),
    settings: { maxRetries: 1 },
  });
  const record = await world.run({ description: 'Look at it', model: 'sonnet' });
  assert.deepEqual([record.retry_count, record.extra.llm_calls, record.status], [1, 2, 'Failed']);
});

type Case = readonly [name: string, behaviour: object, expected: (gaps: readonly number[]) => void];

/** 1, 2 and 4 s, each moved by at most a tenth. */
function areGrowing(gaps: readonly number[]): void {
  assert.equal(gaps.length, 3);
  for (const [index, gap] of gaps.entries())
    assert.ok(Math.abs(gap / (1_000 * 2 ** index) - 1) <= 0.1, String(gaps));
}

const once = (gaps: readonly number[]): void => assert.deepEqual(gaps, []);

const cases: readonly Case[] = [
  ['400, too long', { kind: 'status', status: 400, message: 'prompt is too long' }, once],
  ['401', { kind: 'status', status: 401 }, once],
  [
    '429 with retry-after 7',
    { kind: 'status', status: 429, retryAfter: 7 },
    (gaps) => assert.deepEqual(gaps, [7_000, 7_000, 7_000]),
  ],
  ['429 without', { kind: 'status', status: 429 }, areGrowing],
  ['529', { kind: 'status', status: 529 }, areGrowing],
  ['503', { kind: 'status', status: 503 }, areGrowing],
  ['reset', { kind: 'reset' }, areGrowing],
];

for (const [name, behaviour, expected] of cases) {
  test(`B-074: ${name}: requests that can't succeed go out once, others wait longer each time, four at most`, async () => {
    await using fakeWorld = await FakeWorld.start(
      { rules: [{ do: behaviour as Behaviour }] },
      { settings: jittered },
    );
    const record = await fakeWorld.world.run('Fix it');
    assert.equal(record.status, 'Failed');
    expected(fakeWorld.gaps);
    assert.equal(fakeWorld.fake.meter.entries.length, record.extra.llm_calls);
  });
}

test('B-074: a slow drip ends with the total time-out, and is made again, four times at most', async () => {
  await using fakeWorld = await FakeWorld.start(
    { rules: [{ do: { kind: 'answer', text: 'word '.repeat(500), chunkDelayMs: 5_000 } }] },
    { settings: { ...jittered, totalTimeout: 20_000 } },
  );
  const { world, fake } = fakeWorld;
  const id = await world.begin({ description: 'Fix it', max_retries: 1 });
  for (const count of [1, 2]) {
    await world.until(() => fake.meter.entries.length === count);
    await world.advance(20_000);
    await world.until(async () => (await world.view(id)).status !== 'running');
    if (count === 1) await world.advance(1_200);
  }
  const record = await world.record(id);
  assert.deepEqual(
    [record.status, record.retry_count, fake.meter.entries.length],
    ['Failed', 1, 2],
  );
  assert.match(JSON.stringify(record.extra.error), /no complete answer within 20 s/);
});

test('S-78: an answer that fits into no job is a failed call, booked as what it cost, and never taken for a lost one', async () => {
  await using world = await World.start({
    models: new ScriptedModels(() => answer('x'.repeat(5 * 2 ** 20))),
  });
  const record = await world.run({ description: 'Fix it', max_retries: 1 });
  assert.match(JSON.stringify(record.extra.error), /the answer has 5242880 characters/);
  assert.deepEqual(
    [record.extra.llm_calls, record.extra.unknown_calls, world.models.calls.length],
    [2, 0, 2],
  );
});
