import { randomBytes, randomUUIDv7 } from 'node:crypto';

/** Chance is an argument, as time is. This file is the only one that draws from the machine. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /**
   * A new UUID, version 7. The ids of one process sort by creation, also within a millisecond, so
   * that a batch lists in its order and the stores' indexes only grow at their end.
   */
  id(): string;
  /** A new secret of 256 bits, URL-safe. */
  secret(): string;
}

export const systemRandom: Random = {
  next: () => Math.random(),
  id: sortableId,
  secret: () => randomBytes(32).toString('base64url'),
};

/**
 * An id as a UUID of version 4, for those who ask for that version. It still begins with its time, so
 * that an index of such ids grows at its end, too.
 */
export function asVersion4(id: string): string {
  return `${id.slice(0, 14)}4${id.slice(15)}`;
}

/** The highest of the 12 bits behind the time. */
const lastInMs = 0xfff;
let time = '';
let countInMs = 0;

/**
 * Node's own ids are random within a millisecond. Here the 12 bits behind the time count, as RFC
 * 9562 section 6.2 method 1 allows; the 62 random bits stay. A clock that steps back, or more than
 * 4,096 ids in a millisecond, goes on with the next number of the last time.
 */
function sortableId(): string {
  const fresh = randomUUIDv7();
  const now = fresh.slice(0, 13);
  if (now > time) {
    time = now;
    countInMs = 0;
  } else if (countInMs < lastInMs) {
    countInMs += 1;
  } else {
    time = nextMs(time);
    countInMs = 0;
  }
  return `${time}-7${countInMs.toString(16).padStart(3, '0')}${fresh.slice(18)}`;
}

function nextMs(text: string): string {
  const ms = Number.parseInt(text.replace('-', ''), 16) + 1;
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** `valueMs` moved by at most ± `share` of it, so that many waiters don't return as one. */
export function jittered(valueMs: number, share: number, random: Random): number {
  return Math.round(valueMs * (1 + share * (2 * random.next() - 1)));
}
