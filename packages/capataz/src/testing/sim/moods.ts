import type { Dice } from './dice.ts';

/** What simulated handlers do besides their duty: fail, hang, wait. */
export interface HandlerMoods {
  readonly dice: Dice;
  /** Resolves after simulated time. */
  readonly wait: (ms: number) => Promise<void>;
  /** Share of runs that throw. */
  readonly throws: number;
  /** Share of runs that never return. */
  readonly hangs: number;
}
