import type { CancelTimer, Clock } from '../std/clock.ts';

const everyMs = 1_000;
const kept = 15;

/** How much later than asked a timer rings: what keeps the loop busy delays everything else as much. */
export class LoopLag {
  readonly #clock: Clock;
  #lags: number[] = [];
  #cancel: CancelTimer = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    const dueAt = this.#clock.steady() + everyMs;
    this.#cancel = this.#clock.after(everyMs, () => {
      this.#lags = [...this.#lags.slice(1 - kept), Math.max(0, this.#clock.steady() - dueAt)];
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  /** The longest of the last 15 s. */
  get seconds(): number {
    return Math.max(0, ...this.#lags) / 1_000;
  }
}
