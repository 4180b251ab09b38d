import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chaos } from './run.ts';

// `npm run chaos -- --seconds 60 --runs 1` plays longer ones.
const runs = 10;
const seconds = 10;

describe('real processes under kill -9, SIGSTOP and SIGTERM', () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    it(`B-009 B-057 H-51 run ${seed}: nothing lost, nothing doubled, nothing stuck`, async (t) => {
      const { jobs, kills, problems } = await chaos({ seed, seconds });
      t.diagnostic(`${jobs} jobs, ${kills} kills`);
      assert.deepEqual(problems, []);
      assert.ok(jobs > 20 && kills > 3, `only ${jobs} jobs and ${kills} kills`);
    });
  }
});
