import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from './scenario.ts';

const seeds = 50;

describe('the simulator', () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    it(`seed ${seed} keeps every rule through crashes, losses and repeats`, async () => {
      const { violations, jobs } = await simulate(seed);
      assert.deepEqual(violations, [], `replay with: npm run sim -- --seed ${seed} --trace`);
      assert.ok(jobs > 0);
    });
  }

  it('gives the same story for the same seed, and another for another', async () => {
    const first = await simulate(7);
    const again = await simulate(7);
    const other = await simulate(8);
    assert.deepEqual(again.trace, first.trace);
    assert.notDeepEqual(other.trace, first.trace);
  });
});
