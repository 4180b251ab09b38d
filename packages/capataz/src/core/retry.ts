import { type Duration, maxDurationMs, parseDuration } from '../std/duration.ts';
import { unknownKeys } from '../std/nearest.ts';

/** How a failure is tried again, as a blueprint writes it. Every field has a default. */
export interface RetryOptions {
  /** Retries after the first run. Default 3, so 4 runs. 0 means one run; at most 1,000. */
  readonly max?: number;
  /** Wait before the first retry. Default `1s`. */
  readonly base?: Duration;
  /** Each further wait is this many times longer. Default 2; from 1 to 100. */
  readonly factor?: number;
  /** No wait is longer, the jitter aside. Default `60s`, or `base` where that is longer. */
  readonly cap?: Duration;
  /** Each wait is moved by at most ± this share. Default 0.1; from 0 to 0.5. */
  readonly jitter?: number;
  /** Where a job goes whose retries are spent: a state, or `quarantine` (the default). */
  readonly then?: string;
  /** Other rules for failures of a named class, as `retry({ class })` gives it. */
  readonly classes?: Readonly<Record<string, Omit<RetryOptions, 'classes'>>>;
}

/** A retry rule with every default filled in and checked. */
export interface RetryPolicy {
  readonly max: number;
  readonly baseMs: number;
  readonly factor: number;
  readonly capMs: number;
  readonly jitter: number;
  readonly then: string;
}

const optionKeys = ['max', 'base', 'factor', 'cap', 'jitter', 'then'];

export const quarantine = 'quarantine';

export const defaultRetry: RetryPolicy = {
  max: 3,
  baseMs: 1_000,
  factor: 2,
  capMs: 60_000,
  jitter: 0.1,
  then: quarantine,
};

/** Fills in the defaults. Every setting that makes no sense is told to `report` with its field. */
export function retryPolicy(
  options: Omit<RetryOptions, 'classes'>,
  report: (field: string, problem: string) => void,
): RetryPolicy {
  const number = (field: 'max' | 'factor' | 'jitter', low: number, high: number): number => {
    const value = options[field] ?? defaultRetry[field];
    if (typeof value === 'number' && value >= low && value <= high) return value;
    report(field, `must be a number from ${low} to ${high}, not ${value}`);
    return defaultRetry[field];
  };
  const duration = (field: 'base' | 'cap', fallback: number): number => {
    const text = options[field];
    const ms = text === undefined ? fallback : parseDuration(text);
    if (ms !== undefined && ms > 0) return ms;
    report(field, `must be a duration above zero like "1s", not ${JSON.stringify(text)}`);
    return fallback;
  };
  for (const problem of unknownKeys(options, optionKeys)) report('rule', `is wrong: ${problem}`);
  const max = number('max', 0, 1_000);
  if (!Number.isInteger(max)) report('max', `must be a whole number, not ${max}`);
  const baseMs = duration('base', defaultRetry.baseMs);
  const capMs = duration('cap', Math.max(defaultRetry.capMs, baseMs));
  if (capMs < baseMs) report('cap', `must not be shorter than base`);
  return {
    max,
    baseMs,
    factor: number('factor', 1, 100),
    capMs,
    jitter: number('jitter', 0, 0.5),
    then: options.then ?? defaultRetry.then,
  };
}

/**
 * The wait before retry number `retry` (1 is the first): base × factor^(retry-1), at most cap,
 * moved by the jitter. `chance` is uniform in [0, 1). Infinity from a huge power meets the cap, so
 * the wait never shrinks, and it is at least 1 ms.
 */
export function backoffMs(policy: RetryPolicy, retry: number, chance: number): number {
  const nominal = Math.min(
    policy.baseMs * policy.factor ** (retry - 1),
    policy.capMs,
    maxDurationMs,
  );
  return Math.max(1, Math.round(nominal * (1 + policy.jitter * (2 * chance - 1))));
}
