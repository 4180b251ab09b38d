import { randomBytes, randomUUIDv7 } from 'node:crypto';

/** Chance is an argument, as time is. This file is the only one that draws from the machine. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A new UUID, version 7: ids sort by creation, which keeps the stores' indexes append-only. */
  id(): string;
  /** A new secret of 256 bits, URL-safe. */
  secret(): string;
}

export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => randomUUIDv7(),
  secret: () => randomBytes(32).toString('base64url'),
};

/** `valueMs` moved by at most ± `share` of it, so that many waiters don't return as one. */
export function jittered(valueMs: number, share: number, random: Random): number {
  return Math.round(valueMs * (1 + share * (2 * random.next() - 1)));
}
