/**
 * For tests of your own blueprints: time that you move, and a world of faults under a seed.
 * The store conformance suite is for those who write a store.
 */
export {
  checkBook,
  checkBudgets,
  checkDelays,
  checkEnded,
  checkHolds,
  checkIdle,
  checkLimbo,
} from './sim/checkers.ts';
export { Dice } from './sim/dice.ts';
export { type FaultName, faultNames } from './sim/faults.ts';
export type { Cuts } from './sim/plan.ts';
export type { SimResult } from './sim/scenario.ts';
export { findSeed, type SimSkill, type Trial, tryOut } from './sim/trial.ts';
export { until } from './until.ts';
export { VirtualClock } from './virtual-clock.ts';
