import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { offsetsOf, type RuleCase, referenceSlots, ruleCases } from './fixtures/slow-slots.ts';
import { slots } from './slots.ts';
import { dayMs, minuteMs } from './wall-time.ts';

/**
 * Rules against a reference that walks through seven years minute by minute (A-44, B-040, B-043).
 * What it knows of zones it asks `Intl` for in another way than the code does.
 */

const from = (year: number): number => Date.UTC(year, 0, 1);

test('A-44: 200 random rules in twelve zones have the slots of a walk minute by minute', () => {
  const property = fc.property(ruleCases, (one: RuleCase) => {
    const [start, end] = [from(one.year), from(one.year + 7)];
    const expected = referenceSlots(one, start, end);
    const found = slots(one.rule, one.zone);
    // A dense rule has too many to walk along; around each change of the clocks all are looked at.
    if (expected.length < 20_000) {
      assert.deepEqual([...found.between(start - 1, end - 1)], expected);
    }
    for (const instant of probes(one, start, end)) {
      const behind = firstBehind(expected, instant);
      const next = expected[behind];
      if (next !== undefined) assert.equal(found.next(instant), next);
      const last = expected[behind - 1];
      if (last !== undefined) assert.equal(found.previous(instant + 1), last);
    }
  });
  fc.assert(property, { numRuns: 200, endOnFailure: true });
});

/** Instants anywhere, and each quarter hour around every change of the clocks. */
function probes({ zone, scattered }: RuleCase, start: number, end: number): number[] {
  const anywhere = scattered.map((part) => Math.floor(start + (part / 1e6) * (end - start)));
  const changes = offsetsOf(zone).filter(({ at }) => at > start + dayMs && at < end - 2 * dayMs);
  const around = changes.flatMap(({ at }) =>
    Array.from({ length: 28 * 4 }, (_, place) => at + (place - 4) * 15 * minuteMs - 1),
  );
  return [...anywhere, ...around];
}

/** @returns the place of the first one behind an instant. */
function firstBehind(sorted: readonly number[], instant: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}
