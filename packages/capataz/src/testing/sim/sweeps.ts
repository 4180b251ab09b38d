import { faultNames } from './faults.ts';
import type { StoreFault } from './faulty-store.ts';
import { planOf } from './plan.ts';
import { type SimResult, simulate } from './scenario.ts';

/** A small run without weather: what happens in it is only what the sweep does. */
const cuts = { jobs: 6, workers: 2, instances: 1, stormMs: 20_000, without: faultNames };

/** What a sweep of this seed plays. */
export function sweptBlueprints(seed: number): string[] {
  return planOf(seed, cuts).jobs.map(({ blueprint }) => blueprint);
}

export interface SweepStep extends SimResult {
  readonly nth: number;
}

/** The same run again and again, its n-th store call failing, for n = 1, 2, 3 … until it has no n-th. */
export function failEachCall(seed: number): AsyncGenerator<SweepStep> {
  return sweep(seed, 'fail', () => true);
}

/** The server dies at its n-th commit, before or after it is applied, one commit after the other. */
export function crashAtEachCommit(
  seed: number,
  when: 'before' | 'after',
): AsyncGenerator<SweepStep> {
  return sweep(seed, `crash-${when}`, (isWrite) => isWrite);
}

async function* sweep(
  seed: number,
  fault: StoreFault,
  counts: (isWrite: boolean) => boolean,
): AsyncGenerator<SweepStep> {
  for (let nth = 1; ; nth += 1) {
    let calls = 0;
    const storeFault = (isWrite: boolean): StoreFault => {
      if (!counts(isWrite)) return 'none';
      calls += 1;
      return calls === nth ? fault : 'none';
    };
    yield { nth, ...(await simulate(seed, { cuts, storeFault })) };
    if (calls < nth) return;
  }
}
