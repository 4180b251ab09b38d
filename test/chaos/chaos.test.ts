import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ChaosOptions, chaos } from './run.ts';
import { withPostgresStore } from './store.ts';

// `npm run chaos -- --seconds 60 --runs 1` plays longer ones.
const runs = 10;
const seconds = 10;

const sharedRuns = 4;

describe('real processes under kill -9, SIGSTOP and SIGTERM', () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    it(`B-009 B-057 H-51 run ${seed}: nothing lost, nothing doubled, nothing stuck`, (t) =>
      holds({ seed, seconds }, t));
  }

  for (let seed = 101; seed <= 100 + sharedRuns; seed += 1) {
    it(`A-60 A-61 run ${seed} with two instances on PostgreSQL behind one address: the same`, (t) =>
      withPostgresStore((storeUrl) => holds({ seed, seconds, storeUrl }, t)));
  }
});

async function holds(options: ChaosOptions, t: TestContext): Promise<void> {
  const { jobs, kills, problems } = await chaos(options);
  t.diagnostic(`${jobs} jobs, ${kills} kills`);
  assert.deepEqual(problems, []);
  // A busy machine takes seconds to start a process again.
  assert.ok(jobs >= 10 && kills >= 2, `only ${jobs} jobs and ${kills} kills`);
}
