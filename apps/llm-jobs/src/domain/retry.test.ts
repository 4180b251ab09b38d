import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { backoffMs, defaultRetryConfig } from './retry.ts';

const plain = { capMs: 60_000, jitter: 0 };
const uncapped = { capMs: 0, jitter: 0 };

function delays(base_delay_ms: number, count: number, rules = plain): number[] {
  return Array.from({ length: count }, (_, index) =>
    backoffMs({ base_delay_ms }, index + 1, rules),
  );
}

test('W-16, W-17: the seed’s table: 1, 2, 4, 8 s by default, and twice as long each time from any base', () => {
  assert.deepEqual(defaultRetryConfig, { max_retries: 3, base_delay_ms: 1_000 });
  assert.deepEqual(delays(defaultRetryConfig.base_delay_ms, 4), [1_000, 2_000, 4_000, 8_000]);
  assert.deepEqual(delays(10, 3), [10, 20, 40]);
});

test('W-j: no wait is longer than the cap; without one it saturates; retries are counted from 1', () => {
  assert.deepEqual(delays(1_000, 8).slice(5), [32_000, 60_000, 60_000]);
  assert.equal(backoffMs({ base_delay_ms: 1_000 }, 7, uncapped), 64_000);
  assert.equal(backoffMs({ base_delay_ms: 1_000 }, 5_000, uncapped), 100 * 365 * 86_400_000);
  assert.throws(() => backoffMs({ base_delay_ms: 1_000 }, 0, plain), RangeError);
});

test('W-r: a base of 0 waits for nothing', () => {
  assert.deepEqual(delays(0, 3), [0, 0, 0]);
});

test('W-k: jitter moves a wait by at most its share, and is off by default', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (number, chance) => {
        const nominal = 1_000 * 2 ** (number - 1);
        const moved = backoffMs(
          { base_delay_ms: 1_000 },
          number,
          { ...plain, jitter: 0.1 },
          chance,
        );
        assert.ok(Math.abs(moved - nominal) <= 0.1 * nominal + 1);
        assert.equal(backoffMs({ base_delay_ms: 1_000 }, number, plain, chance), nominal);
      },
    ),
  );
});
