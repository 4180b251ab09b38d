import type { Clock } from '../std/clock.ts';
import type { ScheduleStore } from './schedule-row.ts';

/**
 * The time that slots go by. Instances that share a store take its own, so that one whose clock is a day
 * ahead doesn't call the slots of all others dealt with. An embedded store counts on by the steady clock,
 * whatever is done to the wall clock, which is what its people look at.
 */
export class ScheduleTime {
  readonly #store: ScheduleStore;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: ScheduleStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  async now(): Promise<number> {
    return this.#store.capabilities.shared ? this.#store.now() : this.#clock.now();
  }
}
