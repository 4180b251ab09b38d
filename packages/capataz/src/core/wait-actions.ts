import type { Duration } from '../std/duration.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import type { DispatchAction } from './action.ts';
import type { Emission } from './emit.ts';

/** The actions that wait for something else than one worker or the clock. */

export interface ParallelAction<S extends string = string> {
  readonly type: 'parallel';
  readonly tasks: readonly DispatchAction<S>[];
  readonly to: S | undefined;
}

/**
 * Hands out several tasks at once; when all have ended, the aggregator runs once and finds them in
 * `job.results`. Each task's `on.success` names the same aggregator; another status that is mapped
 * stops the rest and goes there at once; one that is not mapped is collected like a success.
 * No tasks at all run the aggregator at once.
 * @param to the aggregator. Default: what the tasks name; the state's only aggregate target.
 */
export function parallel<const S extends string>(
  tasks: readonly DispatchAction<S>[],
  { to }: { readonly to?: S } = {},
): ParallelAction<S> {
  return { type: 'parallel', tasks, to };
}

export interface ApprovalOptions<S extends string = string> {
  /** What the person is asked. */
  readonly message: string;
  /** What is decided on. With it, a decision must name its hash (or `revision`). Default nothing. */
  readonly show?: JsonValue;
  /** Names the content; a decision may name it in place of the hash. */
  readonly revision?: string;
  /** Decision → state: `approved`, `rejected`, and others of your own; `timeout`, `escalated`. */
  readonly on: Readonly<Record<string, S>>;
  /** Signals that may end the wait as well. */
  readonly signals?: Readonly<Record<string, S>>;
  /** Longest wait, which then takes `on.timeout`, else `failed`. Default none. */
  readonly deadline?: Duration;
  /** After this time somebody else has to look: `on.escalated`, else a mark and an entry. Default never. */
  readonly escalateAfter?: Duration;
}

export interface ApprovalAction<S extends string = string> {
  readonly type: 'approval';
  readonly options: ApprovalOptions<S>;
}

/** Waits for a person's decision. */
export function approval<const S extends string>(options: ApprovalOptions<S>): ApprovalAction<S> {
  return { type: 'approval', options };
}

export interface ChildOptions<S extends string = string> {
  /**
   * How the child ended → state: `finished`, `failed`, `cancelled`, `quarantined`, `timeout`;
   * `success` stands for finished, `failure` for any other that is not named.
   */
  readonly on: Readonly<Record<string, S>>;
  /** Longest wait; the child is then cancelled. Default none. */
  readonly deadline?: Duration;
  /** Default: the parent's. */
  readonly priority?: number;
  readonly attributes?: JsonObject;
  readonly metadata?: JsonObject;
}

export interface ChildAction<S extends string = string> {
  readonly type: 'child';
  readonly blueprint: string;
  readonly input: JsonValue;
  readonly options: ChildOptions<S>;
}

/** Starts a job of another blueprint and waits for its end. It is cancelled when nobody waits any more. */
export function child<const S extends string>(
  blueprint: string,
  input: JsonValue,
  options: ChildOptions<S>,
): ChildAction<S> {
  return { type: 'child', blueprint, input, options };
}

export interface WaitForOptions<S extends string = string> {
  /** Signal → state, besides the rows of the state; `silence` and `timeout` take the deadlines. */
  readonly on?: Readonly<Record<string, S>>;
  /**
   * Longest time without a signal, which then takes `on.silence`, else `on.timeout`, else `failed`.
   * `resetBy` names the signals that start it anew, `any` also takes those that nothing maps.
   * Default: every signal that is mapped.
   */
  readonly silence?: { readonly after: Duration; readonly resetBy?: readonly string[] | 'any' };
  /**
   * Every so often: `emit` asks somebody over the bus, `enter` is a sub-state that the job then stands
   * in while it waits on.
   */
  readonly poll?: { readonly every: Duration; readonly enter?: S; readonly emit?: Emission };
  /**
   * The bus subscription that brings the signals, by its name. While it is down silence means nothing,
   * and once it is back the wait has at least one poll period more; without a poll, two minutes.
   * Default none.
   */
  readonly subscription?: string;
  /** Longest wait in all, which then takes `on.timeout`, else `failed`. */
  readonly deadline?: Duration;
}

export interface WaitForAction<S extends string = string> {
  readonly type: 'waitFor';
  readonly options: WaitForOptions<S>;
}

/** Waits for signals. A silence or a deadline is required: nothing waits for ever. */
export function waitFor<const S extends string>(options: WaitForOptions<S>): WaitForAction<S> {
  return { type: 'waitFor', options };
}

export interface StayAction<S extends string = string> {
  readonly type: 'stay';
  readonly reduce: Reduce | undefined;
  readonly in: S | undefined;
  readonly note: string | undefined;
  readonly ask: Emission | undefined;
}

/** Changes `data` in place. */
export type Reduce = (data: JsonObject, signal: { name: string; data: JsonValue }) => void;

export interface StayOptions<S extends string> {
  /** Shows the job in another state, a sub-state or its parent, without entering it. */
  readonly in?: S;
  /** Stands with the signal in the job's book. */
  readonly note?: string;
  /** What the poll of the wait emits from now on; its rhythm stays. */
  readonly ask?: Emission;
}

/**
 * In a row: takes the signal, keeps the wait and its deadlines.
 * @param reduce changes `job.data` in place
 */
export function stay<const S extends string = never>(
  reduce?: Reduce,
  { in: state, note, ask }: StayOptions<S> = {},
): StayAction<S> {
  return { type: 'stay', reduce, in: state, note, ask };
}

export interface RefuseAction {
  readonly type: 'refuse';
  readonly reason: string;
}

/**
 * In a row that is a function: the signal changes nothing, and silence goes on. Its sender is told
 * the reason (SIGNAL_REFUSED), which also stands in the job's book.
 */
export function refuse(reason: string): RefuseAction {
  return { type: 'refuse', reason };
}
