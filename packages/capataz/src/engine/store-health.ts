import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Store, Work, WorkOutcome } from '../store/contract.ts';
import { unavailable } from '../store/refusals.ts';
import { isStoreAway, StoreTrouble } from './store-trouble.ts';

/**
 * A commit takes milliseconds. One that is not answered for so long is on a connection where nothing
 * comes back any more, or on a server that is frozen; a slow disk is slow for less.
 */
const silenceMs = 5_000;

/** Whether the store takes writes, as the commits find out. All of them go through here. */
export class StoreHealth {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #trouble: StoreTrouble;
  #isRefusing = false;
  /** Commits that have been under way for too long. */
  #silent = 0;
  #answeredAt: number;

  constructor(parts: { readonly store: Store; readonly clock: Clock; readonly log: Log }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'the store refuses writes',
      ends: 'the store takes writes again',
    });
    this.#answeredAt = parts.clock.steady();
  }

  /**
   * False from a commit that the store refuses as unavailable, or does not answer, to the next trial
   * that it takes. Other commits prove less: those that find nothing to do write nothing, and a full
   * disk takes what needs no more room.
   */
  get isHealthy(): boolean {
    return !this.#isRefusing && this.#silent === 0;
  }

  /** Since the last commit that was answered. */
  get quietMs(): number {
    return this.#clock.steady() - this.#answeredAt;
  }

  /** @throws CapatazError STORE_UNAVAILABLE, also at once: nothing is to pile up behind a silent store. */
  async commit(work: Work): Promise<WorkOutcome> {
    if (this.#silent > 0) throw unavailable('it has not answered for seconds');
    const heard = this.#listen();
    try {
      const outcome = await this.#store.commit(work);
      this.#answeredAt = this.#clock.steady();
      return outcome;
    } catch (error) {
      this.#met(error);
      throw error;
    } finally {
      heard();
    }
  }

  /** Work that has nothing to do writes something all the same, and so shows whether that can be done. */
  async try(): Promise<void> {
    await this.commit({});
    this.#isRefusing = false;
    this.#trouble.isOver();
  }

  #met(error: unknown): void {
    if (!isStoreAway(error)) return;
    this.#isRefusing = true;
    this.#trouble.met(error);
  }

  /**
   * An embedded store has no network that could swallow everything, and watches over its own thread; and
   * under a clock that a test moves its disk would be silent for hours. @returns what ends it.
   */
  #listen(): CancelTimer {
    if (!this.#store.capabilities.shared) return () => undefined;
    let isSilent = false;
    const cancel = this.#clock.after(silenceMs, () => {
      isSilent = true;
      this.#silent += 1;
      this.#met(unavailable('a commit has not been answered for seconds'));
    });
    return () => {
      cancel();
      if (isSilent) this.#silent -= 1;
    };
  }
}
