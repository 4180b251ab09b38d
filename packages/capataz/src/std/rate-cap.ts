import type { Clock } from './clock.ts';

interface Window {
  endsAt: number;
  count: number;
}

/** Keys remembered at most; beyond that all are forgotten, which only admits a few more. */
const maxKeys = 10_000;

/** At most so many a key and window, for what strangers can cause without end: notes, log lines. */
export class RateCap {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(
    clock: Clock,
    { most, windowMs }: { readonly most: number; readonly windowMs: number },
  ) {
    this.#clock = clock;
    this.#most = most;
    this.#windowMs = windowMs;
  }

  /** @returns `last` for the one that reaches the cap: it should say that more will be left out. */
  admit(key: string): 'yes' | 'last' | 'no' {
    const now = this.#clock.steady();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      if (this.#windows.size >= maxKeys) this.#windows.clear();
      window = { endsAt: now + this.#windowMs, count: 0 };
      this.#windows.set(key, window);
    }
    window.count += 1;
    if (window.count > this.#most) return 'no';
    return window.count === this.#most ? 'last' : 'yes';
  }
}
