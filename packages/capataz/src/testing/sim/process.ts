import type { CancelTimer, Clock } from '../../std/clock.ts';

/** What a dead process waits for. A new one each time: a shared one would keep all who wait for it. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

/**
 * The part of the world that dies or freezes together: its timers stop ringing and its calls are
 * answered no more, or only when it thaws. Everything a simulated process touches goes through one.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  /** Resolves when it is killed. */
  readonly death: Promise<void>;
  #alive = true;
  #die: () => void = () => undefined;
  #thaw: Promise<void> | null = null;

  /** @param skewMs how far its wall clock is from the world's */
  constructor(name: string, clock: Clock, skewMs = 0) {
    this.name = name;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.clock = {
      now: () => clock.now() + skewMs,
      steady: () => clock.steady(),
      after: (delayMs: number, callback: () => void): CancelTimer => {
        let cancelled = false;
        const ring = (): void => {
          if (cancelled || !this.#alive) return;
          if (this.#thaw === null) callback();
          else void this.#thaw.then(ring);
        };
        const cancel = clock.after(delayMs, ring);
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#thaw !== null;
  }

  /** kill -9. */
  kill(): void {
    this.#alive = false;
    this.#die();
  }

  /** SIGSTOP, and SIGCONT after a while: time goes on outside. */
  freeze(world: Clock, forMs: number): void {
    if (this.#thaw !== null) return;
    this.#thaw = new Promise((resolve) => {
      world.after(forMs, () => {
        this.#thaw = null;
        resolve();
      });
    });
  }

  /** Resolves when it is not frozen: at once, or when it thaws. */
  async awake(): Promise<void> {
    while (this.#thaw !== null) await this.#thaw;
  }

  /** The call's answer as this process gets it: when it runs, and never once it is dead. */
  async answer<T>(call: Promise<T>): Promise<T> {
    let settle: () => T;
    try {
      const result = await call;
      settle = () => result;
    } catch (error) {
      settle = () => {
        throw error;
      };
    }
    await this.awake();
    return this.#alive ? settle() : never();
  }
}
