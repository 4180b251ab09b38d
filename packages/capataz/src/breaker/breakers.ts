import type { Duration } from '../std/duration.ts';
import { type Breaker, breaker } from './breaker.ts';
import { type BreakerOptions, count, defaultOpenFor, positiveMs } from './options.ts';

/** Of each breaker, and of their number. */
export interface BreakersOptions extends Omit<BreakerOptions, 'name'> {
  /** Breakers kept at most. Default 1,000. Beyond that a closed one is forgotten first. */
  readonly maxKeys?: number;
  /**
   * A breaker that nobody asked for so long is forgotten, and its key starts closed again. Default
   * `10m`; never less than `openFor`.
   */
  readonly idleFor?: Duration;
}

/**
 * Breakers by name, made when they are first asked for. Name what fails as one: a host, a provider,
 * a broker. A name for each job or short-lived worker would never see five failures.
 */
export class Breakers {
  readonly #options: BreakerOptions;
  readonly #maxKeys: number;
  readonly #idleMs: number;
  readonly #byName = new Map<string, Breaker>();

  constructor({ maxKeys = 1_000, idleFor = '10m', ...options }: BreakersOptions = {}) {
    this.#options = options;
    this.#maxKeys = count('maxKeys', maxKeys);
    const openMs = positiveMs('openFor', options.openFor ?? defaultOpenFor);
    this.#idleMs = Math.max(positiveMs('idleFor', idleFor), openMs);
    // A slip in the options shows at the start and not at the first call.
    breaker(options);
  }

  /** Ask for it at each call rather than keep it: a forgotten one no longer shows in `list`. */
  get(name: string): Breaker {
    const known = this.#byName.get(name);
    if (known !== undefined && !this.#isStale(known)) return known;
    this.#forgetIdle();
    if (this.#byName.size >= this.#maxKeys) this.#forgetLongestIdle();
    const made = breaker({ ...this.#options, name });
    this.#byName.set(name, made);
    return made;
  }

  /** @throws as `Breaker.call` does. */
  call<T>(name: string, fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    return this.get(name).call(fn);
  }

  /** What it guards is gone: its series ends. Calls that are under way end as they would have. */
  forget(name: string): boolean {
    return this.#byName.delete(name);
  }

  /** For gauges, read when they are scraped. */
  list(): readonly Breaker[] {
    this.#forgetIdle();
    return [...this.#byName.values()];
  }

  #isStale(known: Breaker): boolean {
    return known.idleMs >= this.#idleMs;
  }

  #forgetIdle(): void {
    for (const [name, known] of this.#byName) if (this.#isStale(known)) this.#byName.delete(name);
  }

  /** The closed ones know least. If none can be spared, protection is lost, but never memory. */
  #forgetLongestIdle(): void {
    const all = [...this.#byName.values()];
    const spare = all.filter(({ state }) => state === 'closed');
    const [first, ...others] = spare.length > 0 ? spare : all;
    if (first === undefined) return;
    const victim = others.reduce((a, b) => (b.idleMs > a.idleMs ? b : a), first);
    this.#byName.delete(victim.name);
  }
}
