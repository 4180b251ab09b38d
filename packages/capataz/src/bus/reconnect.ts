import type { Random } from '../std/random.ts';

export interface ReconnectPolicy {
  /** Nominal wait before the first new attempt. Default 1 s. */
  readonly initialDelayMs: number;
  /** Longest nominal wait. Default 60 s, which after the jitter is at most 57 s (S-53). */
  readonly maxDelayMs: number;
  /** Default 2. */
  readonly multiplier: number;
  /** Gives up after as many failed attempts in a row; 0 never does. Default 0. */
  readonly maxAttempts: number;
  /**
   * A subscription counts as healthy, and the waits begin anew, with its first event or after this
   * long. One that ends sooner is a failed attempt: otherwise a bus that accepts and drops would be
   * hit every second (H-p). Default 30 s.
   */
  readonly healthyAfterMs: number;
  /** An attempt without an answer for this long has failed. Default 10 s. */
  readonly attemptTimeoutMs: number;
}

const defaults: ReconnectPolicy = {
  initialDelayMs: 1_000,
  maxDelayMs: 60_000,
  multiplier: 2,
  maxAttempts: 0,
  healthyAfterMs: 30_000,
  attemptTimeoutMs: 10_000,
};

/** @throws RangeError for settings under which attempts would run without a pause, or never. */
export function reconnectPolicy(given: Partial<ReconnectPolicy> = {}): ReconnectPolicy {
  const policy = { ...defaults, ...given };
  for (const name of [
    'initialDelayMs',
    'maxDelayMs',
    'healthyAfterMs',
    'attemptTimeoutMs',
  ] as const) {
    check(policy[name] > 0 && policy[name] <= longestMs, name, 'more than 0 ms, at most a day');
  }
  check(policy.maxDelayMs >= policy.initialDelayMs, 'maxDelayMs', 'at least initialDelayMs');
  check(policy.multiplier >= 1 && policy.multiplier <= 100, 'multiplier', 'from 1 to 100');
  const { maxAttempts } = policy;
  check(Number.isSafeInteger(maxAttempts) && maxAttempts >= 0, 'maxAttempts', 'a whole number');
  return policy;
}

const longestMs = 86_400_000;

function check(holds: boolean, name: string, rule: string): void {
  if (!holds) throw new RangeError(`${name} must be ${rule}`);
}

/** The wait before the attempt that follows `waits` others: 1, 2, 4 … 60, 60 s by default. */
export function nominalDelayMs(policy: ReconnectPolicy, waits: number): number {
  // The power may be Infinity, and the cap is then taken: it never overflows to less (B-091).
  return Math.min(policy.initialDelayMs * policy.multiplier ** waits, policy.maxDelayMs);
}

/** The nominal wait less 5 to 20 % of it (S-53): never more, so that the cap holds. */
export function shortened(nominalMs: number, random: Random): number {
  return nominalMs * (0.95 - 0.15 * random.next());
}
