import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { maxDurationMs } from '../std/duration.ts';
import {
  backoffMs,
  defaultRetry,
  type RetryOptions,
  type RetryPolicy,
  retryPolicy,
} from './retry.ts';

function sound(options: RetryOptions): RetryPolicy {
  return retryPolicy(options, (field, problem) => assert.fail(`${field} ${problem}`));
}

const anyPolicy = fc
  .record({
    max: fc.nat(1_000),
    baseMs: fc.integer({ min: 1, max: maxDurationMs }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    cap: fc.double({ min: 0, max: 1, noNaN: true }),
    jitter: fc.double({ min: 0, max: 0.5, noNaN: true }),
  })
  .map(({ cap, ...policy }) => ({
    ...policy,
    capMs: Math.round(policy.baseMs + cap * (maxDurationMs - policy.baseMs)),
    then: 'quarantine',
  }));
const anyChance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('B-091 S-21 retry n waits base × 2^(n-1), up to the cap', () => {
  const policy = { ...defaultRetry, jitter: 0 };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 100, 1_000].map((retry) => backoffMs(policy, retry, 0.5)),
    [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000],
  );
  assert.equal(
    backoffMs({ ...policy, factor: 10, capMs: maxDurationMs }, 1_000, 0.5),
    maxDurationMs,
  );
});

test('B-091 a wait is a whole number of ms, never below 1', () => {
  fc.assert(
    fc.property(
      anyPolicy,
      fc.integer({ min: 1, max: 1_001 }),
      anyChance,
      (policy, retry, chance) => {
        const waitMs = backoffMs(policy, retry, chance);
        assert.ok(Number.isSafeInteger(waitMs) && waitMs >= 1, String(waitMs));
      },
    ),
  );
});

test('B-091 waits never shrink, and stay at the cap once they reached it', () => {
  fc.assert(
    fc.property(anyPolicy, fc.integer({ min: 1, max: 1_000 }), (policy, retry) => {
      const still = { ...policy, jitter: 0 };
      const waitMs = backoffMs(still, retry, 0.5);
      const nextMs = backoffMs(still, retry + 1, 0.5);
      assert.ok(nextMs >= waitMs);
      assert.ok(waitMs <= policy.capMs);
      if (waitMs === policy.capMs) assert.equal(nextMs, policy.capMs);
    }),
  );
});

test('B-091 the jitter moves a wait by at most its share, at the cap as well', () => {
  fc.assert(
    fc.property(
      anyPolicy,
      fc.integer({ min: 1, max: 1_000 }),
      anyChance,
      (policy, retry, chance) => {
        const nominalMs = backoffMs({ ...policy, jitter: 0 }, retry, chance);
        const waitMs = backoffMs(policy, retry, chance);
        assert.ok(Math.abs(waitMs - nominalMs) <= policy.jitter * (nominalMs + 1) + 1);
      },
    ),
  );
});

test('S-21 the default rule: 3 retries, 1 s × 2^(n-1), cap 60 s, ± 10 %, then quarantine', () => {
  assert.deepEqual(sound({}), defaultRetry);
  assert.deepEqual(defaultRetry, {
    max: 3,
    baseMs: 1_000,
    factor: 2,
    capMs: 60_000,
    jitter: 0.1,
    then: 'quarantine',
  });
});

test('a base above the default cap raises the cap with it', () => {
  assert.deepEqual([sound({ base: '5m' }).baseMs, sound({ base: '5m' }).capMs], [300_000, 300_000]);
});

test('B-091 whatever the settings, a rule is refused or makes sense', () => {
  const duration = fc.oneof(
    fc.string(),
    fc.constantFrom('0s', '1ms', '1s', '1h', '99999d', '1000', 'NaNs', '1e3s'),
    fc.double(),
  );
  const number = fc.oneof(fc.double(), fc.string());
  fc.assert(
    fc.property(
      fc.record(
        { max: number, base: duration, factor: number, cap: duration, jitter: number },
        { requiredKeys: [] },
      ),
      anyChance,
      (options, chance) => {
        const problems: string[] = [];
        const policy = retryPolicy(options as RetryOptions, (field) => problems.push(field));
        if (problems.length > 0) return;
        const waitMs = backoffMs(policy, policy.max + 1, chance);
        assert.ok(Number.isSafeInteger(waitMs) && waitMs >= 1);
        assert.ok(Number.isInteger(policy.max) && policy.max >= 0 && policy.max <= 1_000);
      },
    ),
  );
});
