import type { Job } from '../../core/job.ts';
import { isFinal, jobStatuses } from '../../core/status.ts';
import { tendLetters, unleash } from './actors.ts';
import { simBlueprints } from './blueprints.ts';
import {
  checkAnswers,
  checkBreaker,
  checkEventCounts,
  checkEvents,
  checkHandled,
  checkOutbox,
  checkWords,
} from './bus-checkers.ts';
import { type BusFigures, busFigures } from './bus-figures.ts';
import {
  checkBook,
  checkBudgets,
  checkCalmWorkers,
  checkDelays,
  checkEnded,
  checkHolds,
  checkIdle,
  checkLimbo,
  checkNothingExtra,
  checkResult,
  stillOpen,
} from './checkers.ts';
import { Dice } from './dice.ts';
import { calm, type FaultName, faultNames } from './faults.ts';
import type { StoreFault } from './faulty-store.ts';
import { People } from './people.ts';
import { type Cuts, type Plan, planOf } from './plan.ts';
import { checkStuck } from './stuck-checker.ts';
import {
  checkApproval,
  checkChildren,
  checkFanOut,
  checkKeys,
  checkSignals,
  checkSteps,
} from './wait-checkers.ts';
import { simWork } from './work.ts';
import { World, type WorldOptions } from './world.ts';

export interface SimResult {
  readonly seed: number;
  /** Empty where every rule held. */
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** As they stand in the end. */
  readonly jobs: readonly Job[];
  /** Jobs by the status they ended in. */
  readonly ends: Readonly<Record<string, number>>;
  /** Simulated time, in ms. */
  readonly simulatedMs: number;
  readonly bus: BusFigures;
}

export interface SimOptions {
  readonly cuts?: Cuts;
  /** Decides about each store call instead of the weather. */
  readonly storeFault?: (isWrite: boolean) => StoreFault;
}

/** Everything that was accepted must have ended this long after the calm began. */
const calmLimitMs = 40 * 60_000;
const lookEveryMs = 5_000;

/** One run: a storm of faults over random work, then calm, then every rule is checked. */
export async function simulate(
  seed: number,
  { cuts, storeFault }: SimOptions = {},
): Promise<SimResult> {
  const plan = planOf(seed, cuts);
  return play(plan, {
    blueprints: (moods) => simBlueprints(moods, plan.grammar),
    work: simWork,
    ...(storeFault === undefined ? {} : { storeFault }),
  });
}

/** Plays a plan to its end in a world with these blueprints and this work. */
export async function play(
  plan: Plan,
  options: Omit<WorldOptions, 'dice' | 'instances'>,
): Promise<SimResult> {
  const world = new World({
    ...options,
    instances: plan.instances,
    dice: new Dice(plan.seed * 7 + 1),
  });
  const accepted = new Set<string>();
  world.weather = plan.weather;
  world.startServers();
  for (const worker of plan.workers) world.startWorker(worker);
  for (const job of plan.jobs) {
    world.clock.after(job.atMs, () => {
      void world.createJob(job).then((id) => {
        world.note(`job ${id} (${job.blueprint}) accepted`);
        accepted.add(id);
      });
    });
  }
  const people = new People(world);
  unleash(world, plan, accepted);
  const limbo = await weather(world, plan, people);
  const problems = await untilEnded(world, plan, { accepted, people });
  const present = options.storeFault === undefined ? plan.faults : new Set(faultNames);
  const books = await checkBooks(world, present, { accepted, people });
  const jobs = await readJobs(world, accepted);
  return {
    seed: plan.seed,
    violations: [...world.violations, ...limbo, ...problems, ...books],
    trace: world.trace,
    jobs,
    ends: countEnds(jobs),
    simulatedMs: world.clock.steady(),
    bus: busFigures(world),
  };
}

const looks = [checkLimbo, checkKeys];

/** The storm, with a look at every hot job twice a second. @returns what was found in limbo. */
async function weather(world: World, plan: Plan, people: People): Promise<string[]> {
  const problems: string[] = [];
  const dice = new Dice(plan.seed * 13 + 5);
  while (world.clock.steady() < plan.stormMs) {
    await world.clock.advance(500);
    if (dice.chance(0.3)) await people.speak(dice, false);
    for (const check of looks) problems.push(...(await check(world.truth)));
    problems.push(...(await checkEventCounts(world.truth, world.busWatch)));
  }
  world.note('calm');
  world.weather = calm;
  return problems;
}

interface Parties {
  readonly accepted: ReadonlySet<string>;
  readonly people: People;
}

async function untilEnded(
  world: World,
  plan: Plan,
  { accepted, people }: Parties,
): Promise<string[]> {
  const dice = new Dice(plan.seed * 17 + 3);
  const limit = world.clock.steady() + calmLimitMs;
  let problems: string[] = [];
  while (world.clock.steady() < limit) {
    world.startServers();
    for (const worker of plan.workers) world.startWorker(worker);
    await world.clock.advance(lookEveryMs);
    await people.speak(dice, true);
    problems =
      accepted.size < plan.jobs.length ? ['not all jobs were accepted'] : await release(world);
    if (problems.length === 0) problems = await checkEnded(world.truth, accepted);
    if (problems.length === 0) problems = await checkOutbox(world.truth);
    if (problems.length === 0) problems = checkHandled(world.busWatch);
    // A parked fan-out may have branches that are still at work.
    if (problems.length === 0) problems = await checkIdle(world.truth);
    const { serverBus } = world;
    if (problems.length > 0 || serverBus === null) {
      void tendLetters(world, dice);
      await world.bus.redriveDead();
      continue;
    }
    return [
      ...(await checkBreaker(serverBus.breaker(), (ms) => world.clock.advance(ms))),
      ...(await checkEvents(world.truth, world.busWatch)),
      ...(await checkEventCounts(world.truth, world.busWatch)),
      ...(await checkLimbo(world.truth)),
      ...(await checkNothingExtra(world.truth, accepted)),
      ...(await checkChildren(world.truth)),
    ];
  }
  return problems.length > 0 ? problems : ['no server stays up'];
}

const openStatuses = jobStatuses.filter((status) => !isFinal(status) && status !== 'quarantined');

/** A held job waits for a person, who comes when it is calm. @returns jobs that are open. */
async function release({ truth, engine }: World): Promise<string[]> {
  const open = await truth.jobs({ status: openStatuses, limit: 10_000 });
  for (const { id, held, parent } of open) {
    if (held && parent === null) engine?.jobs.release(id, 'operator').catch(() => undefined);
  }
  return open.map(stillOpen);
}

/** Faults after which a worker may not have got, or not be able to finish, what it was given. */
const losesReplies: readonly FaultName[] = [
  'network',
  'poison',
  'worker-kill',
  'freeze',
  'handlers',
  'server-kill',
  'store-crash',
];

const bookChecks = [
  checkBook,
  checkDelays,
  checkBudgets,
  checkHolds,
  checkFanOut,
  checkApproval,
  checkStuck,
];

async function checkBooks(
  world: World,
  faults: ReadonlySet<FaultName>,
  { accepted, people }: Parties,
): Promise<string[]> {
  const calmWorkers = losesReplies.every((fault) => !faults.has(fault));
  const problems: string[] = calmWorkers ? world.registrations.check() : [];
  for (const id of accepted) {
    const job = await world.truth.job(id);
    if (job === null) continue;
    const entries = await world.truth.history(id, 0, 10_000);
    for (const check of bookChecks) problems.push(...check(job, entries));
    problems.push(...checkResult(job), ...checkSteps(job));
    problems.push(...checkWords(job, world.busWatch), ...checkAnswers(job, world.busWatch));
    problems.push(...checkSignals(job, people.told.get(id) ?? new Set()));
    if (calmWorkers) problems.push(...checkCalmWorkers(job, entries));
  }
  return problems;
}

async function readJobs(world: World, accepted: ReadonlySet<string>): Promise<Job[]> {
  const jobs = await Promise.all([...accepted].map((id) => world.truth.job(id)));
  return jobs.filter((job) => job !== null);
}

function countEnds(jobs: readonly Job[]): Record<string, number> {
  const ends: Record<string, number> = {};
  for (const { status } of jobs) ends[status] = (ends[status] ?? 0) + 1;
  return ends;
}
