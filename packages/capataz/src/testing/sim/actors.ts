import { delay } from '../../std/clock.ts';
import { Dice } from './dice.ts';
import type { FaultName } from './faults.ts';
import type { Plan } from './plan.ts';
import type { World } from './world.ts';

/** One kind of trouble: at random instants it does something bad, with a dice of its own. */
interface Actor {
  readonly fault: FaultName | null;
  readonly everyMs: number;
  readonly act: (world: World, dice: Dice, plan: Plan, accepted: ReadonlySet<string>) => void;
}

const actors: readonly Actor[] = [
  {
    // Whatever has died is started again after a while; this is no fault and always there.
    fault: null,
    everyMs: 2_500,
    act: (world, dice, plan) => {
      if (dice.chance(0.7)) world.startServers();
      for (const worker of plan.workers) if (dice.chance(0.4)) world.startWorker(worker);
    },
  },
  {
    fault: 'server-kill',
    everyMs: 40_000,
    act: (world) => world.killServer('kill -9'),
  },
  {
    fault: 'worker-kill',
    everyMs: 20_000,
    act: (world, dice, plan) => world.killWorker(dice.pick(plan.workers).id, 'kill -9'),
  },
  {
    fault: 'freeze',
    everyMs: 40_000,
    act: (world, dice, plan) => {
      const forMs = dice.between(500, 30_000);
      if (dice.chance(0.4)) world.freezeServer(forMs);
      else world.freezeWorker(dice.pick(plan.workers).id, forMs);
    },
  },
  {
    fault: 'clock',
    everyMs: 40_000,
    act: (world, dice) => {
      const ms = dice.between(-7_200_000, 7_200_000);
      world.note(`the wall clock steps by ${ms} ms`);
      world.clock.step(ms);
    },
  },
  {
    fault: 'operator',
    everyMs: 4_000,
    act: (world, dice, _, accepted) => meddle(world, dice, [...accepted]),
  },
  {
    fault: 'operator',
    everyMs: 15_000,
    act: (world, dice) => void tendLetters(world, dice),
  },
  {
    fault: 'bus-cut',
    everyMs: 30_000,
    act: (world, dice) => {
      const forMs = dice.between(50, 20_000);
      world.note(`the bus is away for ${forMs} ms`);
      world.bus.cut(forMs);
    },
  },
];

/** Lets all actors of the plan loose until the storm is over. */
export function unleash(world: World, plan: Plan, accepted: ReadonlySet<string>): void {
  for (const [index, actor] of actors.entries()) {
    if (actor.fault !== null && !plan.faults.has(actor.fault)) continue;
    void play(world, plan, actor, new Dice(plan.seed * 31 + index), accepted);
  }
}

async function play(
  world: World,
  plan: Plan,
  actor: Actor,
  dice: Dice,
  accepted: ReadonlySet<string>,
): Promise<void> {
  for (;;) {
    await delay(world.clock, dice.between(1, 2 * actor.everyMs));
    if (world.clock.steady() >= plan.stormMs) return;
    actor.act(world, dice, plan, accepted);
  }
}

/** What an operator does with events that nobody would take: some again, some never, some later. */
export async function tendLetters(world: World, dice: Dice): Promise<void> {
  const letters = (await world.engine?.deadLetters.list({ limit: 100 }).catch(() => [])) ?? [];
  for (const { id, name, client } of letters) {
    const deed = dice.pick(['redrive', 'redrive', 'resolve', 'leave'] as const);
    if (deed === 'leave') continue;
    world.note(`operator: ${deed} ${name} (${id})`);
    const done =
      deed === 'redrive'
        ? world.engine?.deadLetters.redrive([id], client)
        : world.engine?.deadLetters.resolve([id], { client, notes: 'not needed' });
    done?.catch(() => undefined);
  }
}

/** What operators do to jobs, now and then two of them at once; refusals and outages are part of it. */
function meddle(world: World, dice: Dice, jobs: readonly string[]): void {
  const { engine } = world;
  if (engine === null || jobs.length === 0) return;
  const id = dice.pick(jobs);
  const deeds = ['hold', 'release', 'redrive', dice.chance(0.3) ? 'cancel' : 'release'] as const;
  for (let count = dice.between(1, 3); count > 0; count -= 1) {
    const deed = dice.pick(deeds);
    world.note(`operator: ${deed} ${id}`);
    const done =
      deed === 'cancel'
        ? engine.jobs.cancel(id, 'operator', 'not needed')
        : engine.jobs[deed](id, 'operator');
    done.catch(() => undefined);
  }
}
