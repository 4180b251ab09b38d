import type { Clock } from '../std/clock.ts';

/**
 * The time of a store that serves one instance: it begins at the wall clock, but not before the
 * last instant that was ever stored, and goes on by the steady clock. A wall clock that is set back,
 * or forward, while the process runs moves no deadline.
 */
export class StoreTime {
  readonly #clock: Clock;
  readonly #start: number;
  readonly #steadyStart: number;

  constructor(clock: Clock, lastStored: number) {
    this.#clock = clock;
    this.#start = Math.max(lastStored, clock.now());
    this.#steadyStart = clock.steady();
  }

  now(): number {
    return Math.floor(this.#start + this.#clock.steady() - this.#steadyStart);
  }
}
