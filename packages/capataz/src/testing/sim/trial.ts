import type { Blueprint } from '../../core/blueprint.ts';
import type { Job } from '../../core/job.ts';
import type { JsonValue } from '../../std/json.ts';
import type { HandlerValue, WorkerResult, WorkerTask } from '../../worker/index.ts';
import { Dice } from './dice.ts';
import type { Work } from './moods.ts';
import { type Cuts, type Plan, planOf } from './plan.ts';
import { play, type SimResult } from './scenario.ts';

/** A skill of yours in a simulated worker. Wait by `wait`, not by a timer: time is simulated. */
export type SimSkill = (
  task: WorkerTask,
  sim: { readonly wait: (ms: number) => Promise<void> },
) => Promise<HandlerValue | WorkerResult> | HandlerValue | WorkerResult;

/** Your blueprints and workers, to be tried under faults. */
export interface Trial {
  readonly blueprints: readonly Blueprint[];
  readonly skills: Readonly<Record<string, SimSkill>>;
  readonly jobs: readonly { readonly blueprint: string; readonly input: JsonValue }[];
  /** Called before each run: forget what the last one left in your stand-ins. */
  readonly reset?: () => void;
  /** Your own rules, when everything has ended. @returns what is wrong, a sentence each. */
  readonly check?: (jobs: readonly Job[]) => readonly string[];
}

/** How long a worker takes to get going with a task, and to get its report out, at most. */
const longestPauseMs = 500;

/**
 * Runs the trial once: crashes of server and workers, lost, late and repeated messages, freezes and
 * clock steps as the seed has it, then calm. The same seed gives the same run.
 */
export async function tryOut(seed: number, trial: Trial, cuts: Cuts = {}): Promise<SimResult> {
  trial.reset?.();
  const result = await play(trialPlan(seed, trial, cuts), {
    blueprints: () => trial.blueprints,
    work: workOf(trial),
  });
  const own = trial.check?.(result.jobs) ?? [];
  return { ...result, violations: [...result.violations, ...own] };
}

/** The first of so many seeds that breaks a rule, or null. */
export async function findSeed(
  trial: Trial,
  { seeds, first = 1 }: { readonly seeds: number; readonly first?: number },
): Promise<SimResult | null> {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const result = await tryOut(seed, trial);
    if (result.violations.length > 0) return result;
  }
  return null;
}

/** Operators are left out: a job that they cancelled would break rules that only ended jobs keep. */
function trialPlan(seed: number, { jobs, skills }: Trial, cuts: Cuts): Plan {
  const without = [...(cuts.without ?? []), 'operator', 'handlers'] as const;
  const plan = planOf(seed, { ...cuts, without });
  const dice = new Dice(seed * 13 + 5);
  const names = Object.keys(skills);
  return {
    ...plan,
    workers: plan.workers.map((worker) => ({ ...worker, kind: 'sdk' as const, skills: names })),
    jobs: jobs.map((job, number) => ({
      ...job,
      key: `key-${number}`,
      atMs: dice.between(0, plan.stormMs),
    })),
  };
}

function workOf({ skills }: Trial): Work {
  return async ({ skill, task }, { dice, wait, dies, die }) => {
    const perform = skills[skill];
    if (perform === undefined || task === null)
      throw new Error(`the trial has no skill "${skill}"`);
    await wait(dice.between(0, longestPauseMs));
    const value = await perform(task, { wait });
    // Between an effect and its report is the worst moment to die, so it is tried often.
    if (dice.chance(dies / 4)) die('between effect and report');
    await wait(dice.between(0, longestPauseMs));
    return value;
  };
}
