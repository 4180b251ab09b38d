import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/contract.ts';

/**
 * The time of day that windows go by, without asking for it: instances that share a store take that
 * store's, as the last commit told it, and one on an embedded store the wall clock. (An embedded store
 * counts on by the steady clock, whatever is done to the wall clock.)
 */
export class StoreClock {
  readonly #clock: Clock;
  readonly #isShared: boolean;
  /** How far the store is ahead of this machine. */
  #aheadMs = 0;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#clock = clock;
    this.#isShared = store.capabilities.shared;
  }

  /** A commit was stamped with this instant, just now. */
  heard(at: number): void {
    if (this.#isShared) this.#aheadMs = at - this.#clock.now();
  }

  now(): number {
    return this.#clock.now() + this.#aheadMs;
  }
}
