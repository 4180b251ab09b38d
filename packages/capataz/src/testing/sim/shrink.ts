import { type FaultName, faultNames } from './faults.ts';
import { type Cuts, planOf } from './plan.ts';
import { type SimResult, simulate } from './scenario.ts';

export interface Shrunk {
  readonly cuts: Cuts;
  readonly result: SimResult;
}

const shortestStormMs = 5_000;

/**
 * Makes a failing run smaller while it fails: fewer kinds of fault, a shorter storm, fewer jobs and
 * workers. Another rule may be broken in the end than at first; any failure is worth a look.
 */
export async function shrink(seed: number, first: SimResult, given: Cuts = {}): Promise<Shrunk> {
  let best: Shrunk = { cuts: given, result: first };
  const attempt = async (cuts: Cuts): Promise<boolean> => {
    const result = await simulate(seed, { cuts });
    if (result.violations.length === 0) return false;
    best = { cuts, result };
    return true;
  };
  for (const fault of faultNames) {
    const without: readonly FaultName[] = [...(best.cuts.without ?? []), fault];
    if (planOf(seed, best.cuts).faults.has(fault)) await attempt({ ...best.cuts, without });
  }
  if (planOf(seed, best.cuts).instances > 1) await attempt({ ...best.cuts, instances: 1 });
  await halve(
    () => planOf(seed, best.cuts).stormMs,
    shortestStormMs,
    (stormMs) => attempt({ ...best.cuts, stormMs }),
  );
  await halve(
    () => planOf(seed, best.cuts).jobs.length,
    1,
    (jobs) => attempt({ ...best.cuts, jobs }),
  );
  await halve(
    () => planOf(seed, best.cuts).workers.length,
    1,
    (workers) => attempt({ ...best.cuts, workers }),
  );
  return best;
}

/** Halves a number while the failure stays, then takes one at a time. */
async function halve(
  current: () => number,
  least: number,
  attempt: (value: number) => Promise<boolean>,
): Promise<void> {
  while (current() > least && (await attempt(Math.max(least, Math.floor(current() / 2))))) {
    // Each success is the next start.
  }
  for (let tries = 0; tries < 4 && current() > least; tries += 1) {
    if (!(await attempt(current() - 1))) return;
  }
}
