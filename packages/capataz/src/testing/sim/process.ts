import type { CancelTimer, Clock } from '../../std/clock.ts';

/** Never resolves: what a dead process waits for. */
export const never: Promise<never> = new Promise(() => undefined);

/**
 * The part of the world that dies together: its timers stop ringing and its calls are never
 * answered. Everything that a simulated process touches goes through one of these.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  /** Resolves when it is killed. */
  readonly death: Promise<void>;
  #alive = true;
  #die: () => void = () => undefined;

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.clock = {
      now: () => clock.now(),
      steady: () => clock.steady(),
      after: (delayMs: number, callback: () => void): CancelTimer =>
        clock.after(delayMs, () => {
          if (this.#alive) callback();
        }),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** kill -9. */
  kill(): void {
    this.#alive = false;
    this.#die();
  }

  /** The call's answer, or silence when this process is dead by then. */
  async answer<T>(call: Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await call;
    } catch (error) {
      if (!this.#alive) return never;
      throw error;
    }
    return this.#alive ? result : never;
  }
}
