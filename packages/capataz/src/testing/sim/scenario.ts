import { checkBook, checkDelays, checkEnded, checkIdle, checkLimbo } from './checkers.ts';
import { Dice } from './dice.ts';
import type { World as SimWorld } from './world.ts';
import { calm, type Weather, type WorkerPlan, World } from './world.ts';

export interface SimResult {
  readonly seed: number;
  /** Empty where every rule held. */
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly jobs: number;
  /** Jobs by the status they ended in. */
  readonly ends: Readonly<Record<string, number>>;
  /** Simulated time, in ms. */
  readonly simulatedMs: number;
}

const blueprintNames = ['one-step', 'three-steps', 'sleeper', 'runner', 'picky'];
/** Everything that was accepted must have ended this long after the calm began. */
const calmLimitMs = 30 * 60_000;
const lookEveryMs = 5_000;

/** One run: a storm of faults over random work, then calm, then every rule is checked. */
export async function simulate(seed: number): Promise<SimResult> {
  const dice = new Dice(seed);
  const world = new World(dice.fork());
  const accepted = new Set<string>();
  const plans = workerPlans(dice);
  world.weather = storm(dice);
  world.startServer();
  for (const plan of plans) world.startWorker(plan);

  const stormMs = dice.between(20, 180) * 1_000;
  const jobs = dice.between(5, 30);
  let waiting = jobs;
  for (let number = 0; number < jobs; number += 1) {
    const blueprint = dice.pick(blueprintNames);
    world.clock.after(dice.between(0, stormMs), () => {
      void world.createJob(`key-${number}`, blueprint, number).then((id) => {
        world.note(`job ${id} (${blueprint}) accepted`);
        accepted.add(id);
        waiting -= 1;
      });
    });
  }
  await rage(world, dice, plans, accepted, stormMs);

  world.note('calm');
  world.weather = calm;
  world.startServer();
  for (const plan of plans) world.startWorker(plan);
  const problems = await untilEnded(world, accepted, () => waiting === 0);
  const violations = [
    ...world.watch.violations,
    ...problems,
    ...(await checkBooks(world, accepted)),
  ];
  return {
    seed,
    violations,
    trace: world.trace,
    jobs,
    ends: await countEnds(world, accepted),
    simulatedMs: world.clock.steady(),
  };
}

function workerPlans(dice: Dice): WorkerPlan[] {
  const plans: WorkerPlan[] = [];
  const count = dice.between(2, 4);
  for (let index = 0; index < count; index += 1) {
    const skills = ['work', 'poison', ...(dice.chance(0.3) ? ['rare'] : [])];
    plans.push({ id: `worker-${index + 1}`, skills, concurrency: dice.between(1, 4) });
  }
  return plans;
}

function storm(dice: Dice): Weather {
  const some = (most: number): number => (dice.chance(0.6) ? dice.next() * most : 0);
  return {
    store: { crash: some(0.03), fail: some(0.02), latencyMs: dice.between(0, 30) },
    network: {
      loseRequest: some(0.1),
      loseAnswer: some(0.1),
      duplicate: some(0.1),
      blackHole: some(0.5),
      latencyMs: dice.between(0, 200),
    },
    fails: some(0.2),
    hangs: some(0.05),
    poison: some(0.3),
  };
}

/** Kills and operators, at random instants, until the storm is over. */
async function rage(
  world: SimWorld,
  dice: Dice,
  plans: readonly WorkerPlan[],
  accepted: ReadonlySet<string>,
  stormMs: number,
): Promise<void> {
  const end = world.clock.steady() + stormMs;
  while (world.clock.steady() < end) {
    await world.clock.advance(dice.between(10, 2_000));
    if (!world.serverUp && dice.chance(0.6)) world.startServer();
    if (world.serverUp && dice.chance(0.02)) world.killServer('kill -9');
    const plan = dice.pick(plans);
    if (world.workersUp.includes(plan.id)) {
      if (dice.chance(0.05)) world.killWorker(plan.id, 'kill -9');
    } else if (dice.chance(0.4)) world.startWorker(plan);
    if (dice.chance(0.1)) await meddle(world, dice, [...accepted]);
    world.watch.violations.push(...(await checkLimbo(world.truth)));
  }
}

/** What operators do to jobs; refusals and outages are part of it. */
async function meddle(world: SimWorld, dice: Dice, jobs: readonly string[]): Promise<void> {
  const engine = world.engine;
  if (engine === null || jobs.length === 0) return;
  const id = dice.pick(jobs);
  const deed = dice.pick(['cancel', 'hold', 'release', 'redrive'] as const);
  world.note(`operator: ${deed} ${id}`);
  const done =
    deed === 'cancel'
      ? engine.jobs.cancel(id, 'operator', 'not needed')
      : engine.jobs[deed](id, 'operator');
  done.catch(() => undefined);
}

async function untilEnded(
  world: SimWorld,
  accepted: ReadonlySet<string>,
  allAccepted: () => boolean,
): Promise<string[]> {
  const limit = world.clock.steady() + calmLimitMs;
  let problems: string[] = ['not all jobs were accepted'];
  while (world.clock.steady() < limit) {
    await world.clock.advance(lookEveryMs);
    await releaseAll(world, accepted);
    if (!allAccepted()) continue;
    problems = await checkEnded(world.truth, accepted);
    if (problems.length === 0)
      return [...(await checkIdle(world.truth)), ...(await checkLimbo(world.truth))];
  }
  return problems;
}

/** A held job waits for a person, who comes when it is calm. */
async function releaseAll(world: SimWorld, accepted: ReadonlySet<string>): Promise<void> {
  for (const id of accepted) {
    const job = await world.truth.job(id);
    if (job?.held && job.endedAt === null && job.status !== 'quarantined') {
      world.engine?.jobs.release(id, 'operator').catch(() => undefined);
    }
  }
}

async function checkBooks(world: SimWorld, accepted: ReadonlySet<string>): Promise<string[]> {
  const problems: string[] = [];
  for (const id of accepted) {
    const job = await world.truth.job(id);
    if (job === null) continue;
    const entries = await world.truth.history(id, 0, 10_000);
    problems.push(...checkBook(job, entries), ...checkDelays(job, entries));
  }
  return problems;
}

async function countEnds(
  world: SimWorld,
  accepted: ReadonlySet<string>,
): Promise<Record<string, number>> {
  const ends: Record<string, number> = {};
  for (const id of accepted) {
    const status = (await world.truth.job(id))?.status ?? 'lost';
    ends[status] = (ends[status] ?? 0) + 1;
  }
  return ends;
}
