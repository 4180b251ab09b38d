import { type BusFaults, calmBus } from './bus.ts';
import { eventNames } from './bus-blueprints.ts';
import type { Dice } from './dice.ts';
import { noStoreFaults, type StoreFaults } from './faulty-store.ts';
import { calmNetwork, type NetworkFaults } from './network.ts';

/** How bad the world is. Everything is zero once the calm begins. */
export interface Weather {
  readonly store: StoreFaults;
  readonly network: NetworkFaults;
  readonly bus: BusFaults;
  /** Share of handler runs, of engine and worker, that fail, hang, or kill their process. */
  readonly fails: number;
  readonly hangs: number;
  readonly poison: number;
}

export const calm: Weather = {
  store: noStoreFaults,
  network: calmNetwork,
  bus: calmBus,
  fails: 0,
  hangs: 0,
  poison: 0,
};

/** Kinds of fault that can be left out of a run, to see which of them a failure needs. */
export const faultNames = [
  'store-crash',
  'store-fail',
  'network',
  'handlers',
  'poison',
  'server-kill',
  'worker-kill',
  'freeze',
  'clock',
  'operator',
  'bus',
  'bus-cut',
  'bus-refusal',
] as const;
export type FaultName = (typeof faultNames)[number];

/** A storm of its own for each seed: most faults present, each at a strength of its own. */
export function storm(dice: Dice, has: (fault: FaultName) => boolean): Weather {
  const some = (fault: FaultName, most: number): number => {
    const strength = dice.chance(0.6) ? dice.next() * most : 0;
    return has(fault) ? strength : 0;
  };
  return {
    store: {
      crash: some('store-crash', 0.03),
      fail: some('store-fail', 0.02),
      latencyMs: dice.between(0, 30),
    },
    network: {
      loseRequest: some('network', 0.1),
      loseAnswer: some('network', 0.1),
      cutAnswer: some('network', 0.1),
      duplicate: some('network', 0.1),
      blackHole: some('network', 0.5),
      latencyMs: dice.between(0, 200),
    },
    fails: some('handlers', 0.2),
    hangs: some('handlers', 0.05),
    poison: some('poison', 0.9),
    bus: busFaults(dice, has, some),
  };
}

function busFaults(
  dice: Dice,
  has: (fault: FaultName) => boolean,
  some: (fault: FaultName, most: number) => number,
): BusFaults {
  const refused = dice.chance(0.5) ? dice.pick(eventNames) : null;
  return {
    loseEvent: some('bus', 0.2),
    loseConfirm: some('bus', 0.2),
    silent: some('bus', 0.5),
    duplicate: some('bus', 0.2),
    late: some('bus', 0.1),
    refuses: has('bus-refusal') ? refused : null,
    latencyMs: dice.between(1, 200),
  };
}
