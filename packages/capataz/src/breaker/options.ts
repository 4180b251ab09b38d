import { type Clock, systemClock } from '../std/clock.ts';
import { type Duration, parseDuration } from '../std/duration.ts';
import { type Log, silentLog } from '../std/log.ts';
import { unknownKeys } from '../std/nearest.ts';
import type { CircuitLimits, CircuitState, Verdict } from './circuit.ts';

/** Every field has a default. */
export interface BreakerOptions {
  /** What it guards, for errors, the log and the listener. Default `default`. */
  readonly name?: string;
  /** Failures without a success in between that open the circuit. Default 5; from 1. */
  readonly failureThreshold?: number;
  /** Successful probes that close it again. Default 3; from 1. A failed one opens it anew. */
  readonly successThreshold?: number;
  /** How long an open circuit refuses every call before it lets a probe through. Default `30s`. */
  readonly openFor?: Duration;
  /** Probes under way at the same time; never more than still needed to close. Default 1. */
  readonly maxProbes?: number;
  /**
   * A call that takes longer is aborted by its signal, rejected with CALL_TIMEOUT and counts as a
   * failure, whatever comes of it later. Default none: a call takes as long as it takes.
   */
  readonly callTimeout?: Duration;
  /**
   * A probe without a verdict after this time counts as failed, so that one which never returns
   * can't keep the circuit half-open; the call itself goes on. Set it above the longest call that
   * is sound. Default: `callTimeout`, or without one `openFor`.
   */
  readonly probeTimeout?: Duration;
  /**
   * What an error says about the thing called: `failure`; `success` where it did answer, as with a
   * refused input; `none` where it says nothing, as when the caller gave up. Default: always
   * `failure`, which is also taken if this function throws. The caller gets the error in any case.
   */
  readonly judge?: (error: unknown) => Verdict;
  /** Told of each change of state, once, after it. What it throws is logged and harms no call. */
  readonly onChange?: (change: BreakerChange) => void;
  /** Gets a line for each change of state. Default: silence. */
  readonly log?: Log;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

export interface BreakerChange {
  readonly name: string;
  readonly from: CircuitState;
  readonly to: CircuitState;
  /** Wall clock, ms since 1970 UTC. */
  readonly at: number;
}

/** With every default filled in and checked. */
export interface BreakerSettings {
  readonly name: string;
  readonly limits: CircuitLimits;
  readonly callTimeoutMs: number | null;
  readonly probeTimeoutMs: number;
  readonly judge: (error: unknown) => Verdict;
  readonly onChange: (change: BreakerChange) => void;
  readonly log: Log;
  readonly clock: Clock;
}

const optionKeys = [
  'name',
  'failureThreshold',
  'successThreshold',
  'openFor',
  'maxProbes',
  'callTimeout',
  'probeTimeout',
  'judge',
  'onChange',
  'log',
  'clock',
];

export const defaultOpenFor = '30s';

/** More is surely a slip; the limit also keeps counters exact. */
const mostCounted = 1_000_000;

/** @throws RangeError naming the first option that makes no sense. */
export function breakerSettings(options: BreakerOptions): BreakerSettings {
  const [unknown] = unknownKeys(options, optionKeys);
  if (unknown !== undefined) throw new RangeError(`breaker: ${unknown}`);
  const { callTimeout } = options;
  return {
    name: options.name ?? 'default',
    limits: {
      failureThreshold: count('failureThreshold', options.failureThreshold ?? 5),
      successThreshold: count('successThreshold', options.successThreshold ?? 3),
      openMs: positiveMs('openFor', options.openFor ?? defaultOpenFor),
      maxProbes: count('maxProbes', options.maxProbes ?? 1),
    },
    callTimeoutMs: callTimeout === undefined ? null : positiveMs('callTimeout', callTimeout),
    probeTimeoutMs: positiveMs(
      'probeTimeout',
      options.probeTimeout ?? callTimeout ?? options.openFor ?? defaultOpenFor,
    ),
    judge: options.judge ?? (() => 'failure'),
    onChange: options.onChange ?? (() => {}),
    log: options.log ?? silentLog,
    clock: options.clock ?? systemClock,
  };
}

export function count(field: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= mostCounted) return value;
  throw new RangeError(
    `breaker: ${field} must be a whole number from 1 to ${mostCounted}, not ${value}`,
  );
}

export function positiveMs(field: string, text: Duration): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new RangeError(`breaker: ${field} must be a duration above zero like "30s", not "${text}"`);
}
