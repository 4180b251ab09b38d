import { type Clock, delay } from 'capataz/server';

/** A wait that the Control Room asked for and that is longer than this is told, not waited out. */
const longestWaitMs = 10_000;

/** Lets calls through: so many a second, and none while the Control Room asked for a pause. */
export class Gate {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #next = Number.NEGATIVE_INFINITY;
  #closedUntil = Number.NEGATIVE_INFINITY;

  constructor({ clock, perSecond }: { readonly clock: Clock; readonly perSecond: number }) {
    this.#clock = clock;
    this.#spacingMs = 1_000 / perSecond;
  }

  /** @returns null when the call may go, else the ms that the Control Room still wants to be left alone. */
  async enter(): Promise<number | null> {
    const closedMs = this.#closedUntil - this.#clock.steady();
    if (closedMs > longestWaitMs) return closedMs;
    const now = this.#clock.steady();
    const at = Math.max(this.#next, now, this.#closedUntil);
    this.#next = at + this.#spacingMs;
    if (at > now) await delay(this.#clock, at - now);
    return null;
  }

  close(forMs: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.steady() + forMs);
  }
}
