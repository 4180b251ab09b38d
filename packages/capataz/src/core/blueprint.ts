import { CapatazError } from '../protocol/errors.ts';
import { type Duration, parseDuration } from '../std/duration.ts';
import { canonicalJson, type JsonValue } from '../std/json.ts';
import { unknownKeys } from '../std/nearest.ts';
import type { Action } from './any-action.ts';
import { compileGuard, type Guard } from './guard.ts';
import type { Handle, HandlerJob, Run } from './handler.ts';
import type { Answer, Concurrency, Job } from './job.ts';
import { quarantine, type RetryOptions, type RetryPolicy, retryPolicy } from './retry.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { StayAction } from './wait-actions.ts';

/** The state that takes what no transition takes; every state has this edge. */
export const failedState = 'failed';

/** A state machine as its author writes it. `S`: its state names. `I`: the type of its input. */
export interface BlueprintDefinition<S extends string, I> {
  /** Letters, digits, `_`, `-` and `.`; it is part of URLs. */
  readonly name: string;
  /** A whole number from 1. Raise it with each change of the graph: running jobs keep theirs. */
  readonly version: number;
  /** Any Standard Schema (zod, valibot, …). Without one `job.input` is untyped JSON. */
  readonly input?: StandardSchema<I>;
  /** Reachable as `job.stores` in every handler. */
  readonly stores?: Readonly<Record<string, unknown>>;
  /** Every state may lead to `failed`, also where the blueprint has no state of that name. */
  readonly states: { readonly [K in S]: StateDefinition<NoInfer<S> | typeof failedState, I> };
  /**
   * Signals that may come before the job waits for them, and how long each is then kept (a list:
   * 24 h). At most 100 lie waiting for a job. Any other that comes early is refused.
   */
  readonly early?: readonly string[] | Readonly<Record<string, Duration>>;
  /**
   * The blueprint's own states for what the engine ends or parks, so that a closed set of states
   * stays closed. Default: `failed` leads to the state of that name, the others leave the job where
   * it stands.
   */
  readonly ends?: { readonly [K in EndName]?: NoInfer<S> };
  /**
   * What a job still says when it is cancelled from outside or parked, which no handler sees: it may
   * `emit` and change `data`, in the very commit that stops it. One that throws keeps nothing from
   * being stopped, and says nothing. Not called where the blueprint's version is gone.
   */
  readonly onStop?: (job: HandlerJob<I>, stop: Stop) => void;
  /** At most `limit` open jobs of one key. A job's own option goes before it. */
  readonly concurrency?: (input: I) => Concurrency | null;
}

export type EndName = 'failed' | 'cancelled' | 'quarantined';

/** What stops a job that did not end by itself. */
export interface Stop {
  readonly how: 'cancelled' | 'quarantined';
  readonly reason: string;
  /** Who cancelled it: a client, or `parent`. Null: nobody did. */
  readonly actor: string | null;
}

export interface StateDefinition<S extends string, I> extends HandlerSlots<S, I> {
  /** Exactly one state of a blueprint starts. */
  readonly start?: true;
  /** The job may end here: `true` well (but `failed` in the state of that name), or `'failed'`. */
  readonly end?: true | 'failed';
  /** The states that a handler may lead to. `failed` is always allowed. */
  readonly to?: readonly S[];
  /** Runs once after all tasks of a fan-out ended. */
  readonly aggregate?: true;
  /** The handler fans out; one of `to` must then be an `aggregate` state. */
  readonly fanOut?: true;
  /**
   * What a signal does while the job waits in this state: leads to a state, changes data (`stay`),
   * or what a function of job and signal returns, which decides like a `handle`.
   */
  readonly on?: Readonly<Record<string, Row<S, I>>>;
  /** This is a sub-state: the parent's rows apply here, too, and its edges. */
  readonly parent?: S;
  /** Guarded handlers, tried in order, the first whose `when` holds wins; one without is the default. */
  readonly handlers?: readonly GuardedHandler<S, I>[];
  /** Failures of the handler, and of tasks that name no rule. A function sees the job. */
  readonly retry?: RetryOptions | ((job: Job) => RetryOptions);
  /** Longest run of a `run` handler, after which another takes over. Default `5m`. */
  readonly timeout?: Duration;
}

export type Row<S extends string = string, I = JsonValue> = S | StayAction<S> | RowHandler<S, I>;

export type RowHandler<S extends string = string, I = JsonValue> = (
  job: HandlerJob<I>,
  signal: Answer,
) => Action<S>;

export interface HandlerSlots<S extends string, I> {
  readonly handle?: Handle<S, I>;
  readonly run?: Run<S, I>;
}

export interface GuardedHandler<S extends string, I> extends HandlerSlots<S, I> {
  /** CEL over `context.input`, `context.data`, `context.client`. */
  readonly when?: string;
}

/** A blueprint that passed the checks of registration. */
export interface Blueprint {
  readonly name: string;
  readonly version: number;
  readonly start: string;
  readonly states: ReadonlyMap<string, State>;
  readonly input: StandardSchema | null;
  readonly stores: Readonly<Record<string, unknown>>;
  /** Signal → how long it is kept when it comes early. */
  readonly early: ReadonlyMap<string, number>;
  readonly ends: Readonly<Partial<Record<EndName, string>>>;
  readonly onStop: ((job: HandlerJob, stop: Stop) => void) | null;
  readonly concurrency: ((input: JsonValue) => Concurrency | null) | null;
  /** Text that two blueprints share exactly when they have the same graph. */
  readonly graph: string;
}

export interface State {
  readonly name: string;
  readonly end: 'finished' | 'failed' | null;
  readonly to: ReadonlySet<string>;
  readonly aggregate: boolean;
  readonly fanOut: boolean;
  readonly handlers: readonly Handler[];
  /** Its own rows and those of its parents, the nearest first. */
  readonly rows: ReadonlyMap<string, Row>;
  readonly parent: string | null;
  readonly retry: (job: Job, failureClass?: string) => RetryPolicy;
  readonly timeoutMs: number;
}

export interface Handler {
  readonly when: Guard | null;
  readonly slot:
    | { readonly type: 'handle'; readonly handle: Handle }
    | { readonly type: 'run'; readonly run: Run };
}

const defaultTimeoutMs = 5 * 60_000;

const definitionKeys = [
  'name',
  'version',
  'input',
  'stores',
  'states',
  'early',
  'ends',
  'onStop',
  'concurrency',
];
const slotKeys = ['handle', 'run'];
const stateKeys = [
  ...slotKeys,
  'start',
  'end',
  'to',
  'aggregate',
  'fanOut',
  'on',
  'parent',
  'handlers',
  'retry',
  'timeout',
];

/**
 * Declares a blueprint and checks it.
 * @throws CapatazError BLUEPRINT_INVALID with every problem at once, each naming state and target.
 */
export function blueprint<const S extends string, I = JsonValue>(
  definition: BlueprintDefinition<S, I>,
): Blueprint {
  const problems: string[] = [];
  // The names are only known to the compiler from here on: inside, a state is a string.
  const untyped = definition as unknown as BlueprintDefinition<string, JsonValue>;
  const states = new Map<string, State>();
  for (const [name, state] of Object.entries(untyped.states)) {
    states.set(
      name,
      compileState(name, state, (problem) => problems.push(`state "${name}": ${problem}`)),
    );
  }
  inheritRows(states, problems);
  const early = compileEarly(untyped.early ?? [], problems);
  const ends = untyped.ends ?? {};
  for (const [end, target] of Object.entries(ends)) {
    if (!states.has(target)) problems.push(`ends.${end} names "${target}", which is no state`);
  }
  const starts = Object.keys(untyped.states).filter((name) => untyped.states[name]?.start === true);
  problems.push(...unknownKeys(untyped, definitionKeys));
  problems.push(...nameProblems(untyped), ...graphProblems(states, starts, Object.values(ends)));
  if (problems.length > 0) {
    throw new CapatazError(
      'BLUEPRINT_INVALID',
      `blueprint "${definition.name}" version ${definition.version}: ${problems.join('; ')}`,
      { blueprint: String(definition.name), problems },
    );
  }
  return {
    name: untyped.name,
    version: untyped.version,
    start: starts[0] ?? '',
    states,
    input: untyped.input ?? null,
    stores: untyped.stores ?? {},
    early,
    ends,
    onStop: untyped.onStop ?? null,
    concurrency: untyped.concurrency ?? null,
    graph: graphText(states),
  };
}

function nameProblems({ name, version }: BlueprintDefinition<string, JsonValue>): string[] {
  const problems: string[] = [];
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name)) {
    problems.push('the name must be 1 to 100 letters, digits, "_", "-" or "."');
  }
  if (!Number.isInteger(version) || version < 1)
    problems.push('the version must be a whole number from 1');
  return problems;
}

type Report = (problem: string) => void;

function compileState(
  name: string,
  definition: StateDefinition<string, JsonValue>,
  report: Report,
): State {
  for (const problem of unknownKeys(definition, stateKeys)) report(problem);
  if (name === quarantine) report('has the name that retry.then gives to quarantine');
  const timeoutMs =
    definition.timeout === undefined ? defaultTimeoutMs : parseDuration(definition.timeout);
  if (timeoutMs === undefined || timeoutMs === 0) {
    report(
      `timeout must be a duration above zero like "5m", not ${JSON.stringify(definition.timeout)}`,
    );
  }
  let end: State['end'] = null;
  if (definition.end !== undefined) {
    end = definition.end === 'failed' || name === failedState ? 'failed' : 'finished';
  }
  const { retry } = definition;
  const rows = compileRows(definition.on ?? {}, report);
  const to = new Set([...(definition.to ?? []), ...[...rows.values()].flatMap(rowTargets)]);
  if (typeof retry === 'object') {
    compileRetry(retry, undefined, report);
    for (const then of retryTargets(retry)) {
      if (!isRetryTarget(then, to)) report(retryTargetProblem(then));
    }
  }
  return {
    name,
    end,
    to,
    aggregate: definition.aggregate === true,
    fanOut: definition.fanOut === true,
    handlers: compileHandlers(definition, report),
    rows,
    parent: definition.parent ?? null,
    retry: (job, failureClass) => {
      const options = typeof retry === 'function' ? retry(job) : (retry ?? {});
      const policy = compileRetry(options, failureClass, refuse);
      if (!isRetryTarget(policy.then, to)) refuse(retryTargetProblem(policy.then));
      return policy;
    },
    timeoutMs: timeoutMs ?? defaultTimeoutMs,
  };
}

function retryTargets({ then, classes = {} }: RetryOptions): string[] {
  const targets = [then, ...Object.values(classes).map((ofClass) => ofClass.then)];
  return targets.filter((target) => target !== undefined);
}

/** Spent retries may lead to quarantine, to `failed`, or along a declared edge. */
export function isRetryTarget(target: string, to: ReadonlySet<string>): boolean {
  return target === quarantine || target === failedState || to.has(target);
}

function retryTargetProblem(then: string): string {
  return `retry.then "${then}" is neither "quarantine" nor one of its to`;
}

/** A retry function that gives nonsense is a failure of the handler. */
function refuse(problem: string): never {
  throw new Error(problem);
}

function compileRetry(
  options: RetryOptions,
  failureClass: string | undefined,
  report: Report,
): RetryPolicy {
  const { classes = {}, ...common } = options;
  const reportField =
    (prefix: string) =>
    (field: string, problem: string): void =>
      report(`${prefix}.${field} ${problem}`);
  if (failureClass === undefined) {
    for (const [name, ofClass] of Object.entries(classes)) {
      retryPolicy({ ...common, ...ofClass }, reportField(`retry.classes.${name}`));
    }
  }
  const special = failureClass === undefined ? undefined : classes[failureClass];
  return retryPolicy({ ...common, ...special }, reportField('retry'));
}

function compileHandlers(
  definition: StateDefinition<string, JsonValue>,
  report: Report,
): Handler[] {
  const own = definition.handle !== undefined || definition.run !== undefined;
  if (own && definition.handlers !== undefined) {
    report('has both handlers and a handler of its own; move it to the end of handlers');
  }
  const written = own ? [definition] : (definition.handlers ?? []);
  const mayHaveNone = definition.end !== undefined || definition.parent !== undefined;
  if (written.length === 0 && !mayHaveNone) {
    report('has no handler, and only an end state or a sub-state may have none');
  }
  const compiled: Handler[] = [];
  for (const [index, handler] of written.entries()) {
    if (!own) for (const problem of unknownKeys(handler, [...slotKeys, 'when'])) report(problem);
    const slot = handlerSlot(handler);
    if (slot === null) {
      report(`handler ${index + 1} must have exactly one of handle and run`);
      continue;
    }
    const when = 'when' in handler ? handler.when : undefined;
    compiled.push({ slot, when: when === undefined ? null : guardOf(when, report) });
    if (when === undefined && index < written.length - 1) {
      report(`handler ${index + 1} has no when, so those behind it can never run`);
    }
  }
  const last = compiled.at(-1);
  if (last !== undefined && last.when !== null) {
    report('the last of its handlers must be the default, without when');
  }
  return compiled;
}

function handlerSlot({ handle, run }: HandlerSlots<string, JsonValue>): Handler['slot'] | null {
  if (typeof handle === 'function' && run === undefined) return { type: 'handle', handle };
  if (typeof run === 'function' && handle === undefined) return { type: 'run', run };
  return null;
}

function guardOf(text: string, report: Report): Guard | null {
  try {
    return compileGuard(text);
  } catch (error) {
    report(
      `when ${JSON.stringify(text)} is no CEL expression: ${(error as Error).message.split('\n')[0]}`,
    );
    return null;
  }
}

const defaultEarlyMs = 24 * 3_600_000;

function compileEarly(
  given: readonly string[] | Readonly<Record<string, Duration>>,
  problems: string[],
): Map<string, number> {
  if (Array.isArray(given)) return new Map(given.map((name: string) => [name, defaultEarlyMs]));
  const early = new Map<string, number>();
  for (const [name, duration] of Object.entries(given)) {
    const ms = parseDuration(duration);
    if (ms === undefined || ms === 0)
      problems.push(`early.${name} must be a duration above zero like "1h"`);
    early.set(name, ms ?? 0);
  }
  return early;
}

function compileRows(given: Readonly<Record<string, Row>>, report: Report): Map<string, Row> {
  const rows = new Map(Object.entries(given));
  for (const [signal, row] of rows) {
    const isRow = typeof row === 'string' || typeof row === 'function' || row?.type === 'stay';
    if (!isRow) report(`on.${signal} must be a state, stay() or a function`);
  }
  return rows;
}

function rowTargets(row: Row): string[] {
  if (typeof row === 'string') return [row];
  return typeof row === 'object' && row.in !== undefined ? [row.in] : [];
}

/** A sub-state takes what its parents take, and may lead where they lead, back to them included. */
function inheritRows(states: Map<string, State>, problems: string[]): void {
  for (const state of states.values()) {
    const rows = new Map(state.rows);
    const to = new Set(state.to);
    const seen = new Set([state.name]);
    for (let name = state.parent; name !== null; ) {
      const parent = states.get(name);
      if (parent === undefined || seen.has(name)) {
        problems.push(
          `state "${state.name}": its parent "${name}" ${parent ? 'is its own sub-state' : 'does not exist'}`,
        );
        break;
      }
      seen.add(name);
      for (const [signal, row] of parent.rows) if (!rows.has(signal)) rows.set(signal, row);
      for (const target of [name, ...parent.to]) to.add(target);
      name = parent.parent;
    }
    if (state.parent !== null) states.set(state.name, { ...state, rows, to });
  }
}

function graphProblems(
  states: ReadonlyMap<string, State>,
  starts: readonly string[],
  ends: readonly string[],
): string[] {
  const problems: string[] = [];
  if (starts.length !== 1) {
    const found = starts.length === 0 ? 'there is none' : `there are ${starts.join(', ')}`;
    problems.push(`exactly one state must have start: true; ${found}`);
  }
  for (const state of states.values()) problems.push(...edgeProblems(state, states));
  if (starts.length === 1) {
    const reached = reachable(states, [starts[0] ?? '', ...ends]);
    for (const name of states.keys()) {
      if (!reached.has(name)) problems.push(`state "${name}" cannot be reached from the start`);
    }
  }
  return problems;
}

function edgeProblems(state: State, states: ReadonlyMap<string, State>): string[] {
  const problems: string[] = [];
  const targets = [...state.to].map((name) => states.get(name));
  for (const target of state.to) {
    if (!states.has(target) && target !== failedState) {
      problems.push(`state "${state.name}" leads to "${target}", which does not exist`);
    }
  }
  if (state.end === null && state.to.size === 0) {
    problems.push(`state "${state.name}" is a dead end: it has neither to nor end`);
  }
  if (state.fanOut && !targets.some((target) => target?.aggregate === true)) {
    problems.push(`state "${state.name}" fans out, but none of its targets has aggregate: true`);
  }
  return problems;
}

/** `failed` is an edge of every state, so that a state of this name is always reachable. */
function reachable(
  states: ReadonlyMap<string, State>,
  roots: readonly string[],
): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...roots, failedState];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const state = states.get(name);
    if (state === undefined || reached.has(name)) continue;
    reached.add(name);
    open.push(...state.to);
  }
  return reached;
}

function graphText(states: ReadonlyMap<string, State>): string {
  const edges = [...states.values()].map(
    ({ name, end, to, aggregate, handlers, rows, parent }) => ({
      name,
      end,
      to: [...to].sort(),
      aggregate,
      slots: handlers.map((handler) => handler.slot.type),
      ...(rows.size === 0 ? {} : { rows: [...rows.keys()].sort() }),
      ...(parent === null ? {} : { parent }),
    }),
  );
  return canonicalJson(edges.sort((a, b) => (a.name < b.name ? -1 : 1)));
}
