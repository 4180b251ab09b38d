import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { RateCap } from './rate-cap.ts';

test('a cap admits so many a key, says which is the last, and opens again', async () => {
  const clock = new VirtualClock();
  const cap = new RateCap(clock, { most: 2, windowMs: 1_000 });
  assert.deepEqual(
    ['a', 'a', 'a', 'b'].map((key) => cap.admit(key)),
    ['yes', 'last', 'no', 'yes'],
  );
  await clock.advance(999);
  assert.equal(cap.admit('a'), 'no');
  await clock.advance(1);
  assert.equal(cap.admit('a'), 'yes');
});
