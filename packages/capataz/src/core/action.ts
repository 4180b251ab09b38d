import type { Duration } from '../std/duration.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import type { Requirements } from './requirements.ts';
import type { RetryOptions } from './retry.ts';
import type { StrategyName } from './strategy.ts';

export interface TransitionAction<S extends string = string> {
  readonly type: 'transition';
  readonly to: S;
}

/** Goes on in another state at once. */
export function transition<const S extends string>(to: S): TransitionAction<S> {
  return { type: 'transition', to };
}

export interface DispatchOptions<S extends string = string> {
  /**
   * Which status of the worker's result leads to which state. `success` is what a worker reports
   * that names no status; `timeout` takes every spent deadline. A status that is not here leads
   * to `failed`.
   */
  readonly on: Readonly<Record<string, S>>;
  /** −1000 to 1000, higher first. Default: the job's priority. */
  readonly priority?: number;
  /** Longest time in the queue. Default: the job's, else none. */
  readonly dispatchTimeout?: Duration;
  /** Absolute deadline from this action on, over all retries. Default: the job's, else none. */
  readonly resultTimeout?: Duration;
  /** Longest run of one attempt where there is no result timeout. Default `5m`. */
  readonly executionLimit?: Duration;
  /** Planned delay before the task may be handed out. No deadline runs meanwhile. Default none. */
  readonly delay?: Duration;
  /** What the worker must offer. Default: the skill alone. */
  readonly requirements?: Requirements;
  /** Which of several waiting workers gets it. Default `default`. */
  readonly strategy?: StrategyName;
  /** A blackout of `schedules.toml`: while it lasts the task stays in the queue. Default none. */
  readonly notDuring?: string;
  /** Workers that ask more for the skill are left out. Default no limit. */
  readonly maxCost?: number;
  /** Default: the state's `retry`, else 3 retries from 1 s. */
  readonly retry?: Omit<RetryOptions, 'classes'>;
  /** Passed through to the worker as `metadata`. */
  readonly metadata?: JsonObject;
  /** At most `limit` tasks of one key at once; the job waits for a free place. Default no limit. */
  readonly concurrencyKey?: { readonly key: string; readonly limit: number };
}

export interface DispatchAction<S extends string = string> {
  readonly type: 'dispatch';
  readonly skill: string;
  readonly params: JsonObject;
  readonly options: DispatchOptions<S>;
}

/** Hands one task to a worker with the skill and waits for its result. */
export function dispatch<const S extends string>(
  skill: string,
  params: JsonObject,
  options: DispatchOptions<S>,
): DispatchAction<S> {
  return { type: 'dispatch', skill, params, options };
}

export interface SleepAction<S extends string = string> {
  readonly type: 'sleep';
  readonly duration: Duration;
  readonly to: S;
}

/** Waits for a length of time, then goes on in `to`. Years are fine; a restart loses nothing. */
export function sleep<const S extends string>(duration: Duration, to: S): SleepAction<S> {
  return { type: 'sleep', duration, to };
}

export interface FinishAction {
  readonly type: 'finish';
  readonly result: JsonValue | undefined;
}

/** Ends the job well in its present state. Its result is `result`, else its `data`. */
export function finish(result?: JsonValue): FinishAction {
  return { type: 'finish', result };
}

export interface FailAction {
  readonly type: 'fail';
  readonly reason: string;
  readonly details: JsonObject | undefined;
}

/** Ends the job as failed in its present state. */
export function fail(reason: string, details?: JsonObject): FailAction {
  return { type: 'fail', reason, details };
}

export interface RetryAction {
  readonly type: 'retry';
  readonly class: string | undefined;
  readonly reason: string;
  readonly after: Duration | undefined;
}

/**
 * From `run` only: runs this handler again by the state's retry rule, with `data` stored.
 * `class` picks a rule of `retry.classes`; `after` overrides the wait.
 */
export function retry(options: {
  readonly reason: string;
  readonly class?: string;
  readonly after?: Duration;
}): RetryAction {
  return { type: 'retry', class: options.class, reason: options.reason, after: options.after };
}
