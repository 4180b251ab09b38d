/**
 * Time is an argument. This file is the only one that reads the machine's clocks; everything else
 * is handed a `Clock`, so that a test moves the time instead of waiting for it.
 */
export interface Clock {
  /** Wall clock in ms since 1970 UTC. It may step in either direction. */
  now(): number;
  /** Steady clock in ms from an arbitrary start. It never steps; durations are measured on it. */
  steady(): number;
  /**
   * Calls back once after `delayMs` on the steady clock (at once for zero and less).
   * @returns a function that cancels; harmless after the call.
   */
  after(delayMs: number, callback: () => void): CancelTimer;
}

export type CancelTimer = () => void;

/** setTimeout overflows at 2^31 ms (24.8 days) and then fires at once: longer waits go in legs. */
const longestLegMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  after(delayMs, callback) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      const legMs = Math.min(Math.max(leftMs, 0), longestLegMs);
      timer = setTimeout(() => (leftMs > legMs ? wait(leftMs - legMs) : callback()), legMs);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or at once when the signal aborts: the caller looks at the signal. */
export function delay(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
