import { fixedBlueprints } from './blueprints.ts';
import { Dice } from './dice.ts';
import { type FaultName, faultNames, storm, type Weather } from './faults.ts';
import type { JobOrder, WorkerPlan } from './world.ts';

/** What a run is made of. It follows from the seed alone; `Cuts` take things away from it. */
export interface Plan {
  readonly seed: number;
  readonly stormMs: number;
  readonly jobs: readonly JobPlan[];
  readonly workers: readonly WorkerPlan[];
  /** Servers that share the store. */
  readonly instances: number;
  readonly weather: Weather;
  readonly faults: ReadonlySet<FaultName>;
  /** Seeds of the random blueprints, by name. */
  readonly grammar: Readonly<Record<string, number>>;
}

export interface JobPlan extends JobOrder {
  /** When its client asks for it, in ms from the start. */
  readonly atMs: number;
}

/** Less of a plan, to find out what a failure needs. Nothing else about the run changes. */
export interface Cuts {
  readonly jobs?: number;
  readonly workers?: number;
  readonly instances?: number;
  readonly stormMs?: number;
  /** Kinds of fault that are left out. */
  readonly without?: readonly FaultName[];
}

/** Seeds that have two servers. */
const twoShare = 0.4;

export function planOf(seed: number, cuts: Cuts = {}): Plan {
  const dice = new Dice(seed);
  const faults = presentFaults(dice.fork(), cuts.without ?? []);
  const stormMs = dice.between(20, 180) * 1_000;
  const grammar = { random: dice.between(1, 1e9), wild: dice.between(1, 1e9) };
  const weather = storm(dice.fork(), (fault) => faults.has(fault));
  const workers = workerPlans(dice.fork()).slice(0, cuts.workers);
  const jobs = jobPlans(dice.fork(), stormMs, [...fixedBlueprints, ...Object.keys(grammar)]);
  const instances = dice.chance(twoShare) ? 2 : 1;
  return {
    seed,
    stormMs: cuts.stormMs ?? stormMs,
    faults,
    weather,
    workers,
    instances: cuts.instances ?? instances,
    jobs: jobs.slice(0, cuts.jobs),
    grammar,
  };
}

/** Every fifth seed is gentle, so that the rules for calm workers are tried too. */
function presentFaults(dice: Dice, without: readonly FaultName[]): ReadonlySet<FaultName> {
  const gentleOnes: readonly FaultName[] = [
    'store-fail',
    'clock',
    'operator',
    'bus',
    'bus-cut',
    'bus-refusal',
  ];
  const gentle = dice.chance(0.2);
  return new Set(
    faultNames.filter(
      (fault) => !without.includes(fault) && !(gentle && !gentleOnes.includes(fault)),
    ),
  );
}

/** At least one of our own, which takes everything that is asked for. */
function workerPlans(dice: Dice): WorkerPlan[] {
  const plans: WorkerPlan[] = [];
  const count = dice.between(2, 5);
  for (let index = 0; index < count; index += 1) {
    plans.push({
      id: `worker-${index + 1}`,
      skills: ['work', 'poison', ...(dice.chance(0.3) ? ['rare'] : [])],
      kind: index > 0 && dice.chance(0.4) ? 'rxon' : 'sdk',
      concurrency: dice.between(1, 4),
      skewMs: dice.chance(0.3) ? dice.between(-3_600_000, 3_600_000) : 0,
    });
  }
  return plans;
}

function jobPlans(dice: Dice, stormMs: number, blueprints: readonly string[]): JobPlan[] {
  const jobs: JobPlan[] = [];
  const count = dice.between(5, 30);
  for (let number = 0; number < count; number += 1) {
    const blueprint = dice.pick(blueprints);
    const atMs = dice.between(0, stormMs);
    jobs.push({ key: `key-${number}`, blueprint, input: { number }, atMs });
  }
  return jobs;
}

/** As flags of the command, so that a cut plan can be run again. */
export function cutFlags({ jobs, workers, instances, stormMs, without = [] }: Cuts): string {
  return [
    ...(jobs === undefined ? [] : [`--jobs ${jobs}`]),
    ...(workers === undefined ? [] : [`--workers ${workers}`]),
    ...(instances === undefined ? [] : [`--instances ${instances}`]),
    ...(stormMs === undefined ? [] : [`--storm ${stormMs}ms`]),
    ...without.map((fault) => `--without ${fault}`),
  ].join(' ');
}
