import type { Random } from '../../std/random.ts';

/**
 * Chance from a seed: the same seed gives the same numbers on every machine (xorshift32 with a
 * splitmix start, enough for choosing faults and far from enough for secrets).
 */
export class Dice implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = mix(seed) || 1;
  }

  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state / 2 ** 32;
  }

  /** Shaped like a version 7 UUID. Ids from one dice sort by creation, as real ones do. */
  id(): string {
    this.#drawn += 1;
    const time = this.#drawn.toString(16).padStart(12, '0');
    const rest = `${this.#hex()}${this.#hex()}${this.#hex()}`;
    return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
  }
  #drawn = 0;

  secret(): string {
    return this.id();
  }

  #hex(): string {
    return Math.floor(this.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }

  /** True once in a while: with probability `share`. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /** A dice of its own, so that more draws in one place don't change what another place sees. */
  fork(): Dice {
    return new Dice(Math.floor(this.next() * 2 ** 32));
  }
}

function mix(seed: number): number {
  let x = (seed + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
