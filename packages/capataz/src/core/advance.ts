import { durationMs } from '../std/duration.ts';
import {
  cleanJson,
  cleanText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '../std/json.ts';
import { unknownKeys } from '../std/nearest.ts';
import type { Action, DispatchAction, DispatchOptions, RetryAction } from './action.ts';
import { failedState, type Handler, isRetryTarget } from './blueprint.ts';
import { HandlerView } from './handler.ts';
import type { JobError, Resume, TaskSpec } from './job.ts';
import { type Requirements, requirementsProblem } from './requirements.ts';
import { backoffMs, quarantine, type RetryPolicy, retryPolicy } from './retry.ts';
import type { HandlerError, Timer } from './signal.ts';
import type { FinalStatus } from './status.ts';
import type { Step } from './step.ts';
import { strategyNames } from './strategy.ts';

const defaultExecutionLimitMs = 300_000;
const maxPriority = 1_000;
/**
 * Weight of what a handler may leave in one place (data, result, params). Escaped, it takes up to six
 * times as many characters of text, and no text is longer than 512 Mi.
 */
export const maxPayload = 16 * 1024 * 1024;
const dispatchKeys: readonly (keyof DispatchOptions)[] = [
  'on',
  'priority',
  'dispatchTimeout',
  'resultTimeout',
  'executionLimit',
  'delay',
  'requirements',
  'strategy',
  'maxCost',
  'retry',
  'metadata',
];

/** Enters a state and goes on through every `handle` until the job waits, runs or ends. */
export function enterState(step: Step, name: string): void {
  for (let next: string | null = name; next !== null; ) {
    if (!step.blueprint.states.has(next)) return endFailed(step, next);
    if (step.job.hops >= step.context.maxTransitions) return endLoop(step);
    step.enter(next);
    next = runState(step);
  }
}

/** Runs the handler of the present state. @returns the state to go on in, or null. */
export function runState(step: Step): string | null {
  const handler = chooseHandler(step);
  if (handler === null) return endHere(step);
  if (handler.slot.type === 'run') {
    step.await({ status: step.job.entry === 1 ? 'pending' : 'running', wait: null });
    if (step.context.lease !== null && !step.job.held) step.claim(step.context.lease);
    return null;
  }
  const view = new HandlerView(step.job, { ...step.context, stores: step.blueprint.stores });
  try {
    const action = settled(step, handler.slot.handle(view));
    return applyAction(step, action ?? undefined, view.dataAfter());
  } catch (error) {
    failHandler(step, toHandlerError(error));
    return null;
  }
}

function chooseHandler(step: Step): Handler | null {
  const { input, data } = step.job;
  for (const handler of step.state.handlers) {
    if (handler.when === null) return handler;
    const { holds, problem } = handler.when({ input, data, client: step.context.client });
    if (problem !== null)
      step.note({ type: 'guard_failed', state: step.job.state, reason: problem });
    if (holds) return handler;
  }
  return null;
}

/**
 * A promise can't be waited for inside a decision. Its own failure is taken, so that nobody is left
 * to miss it: an unhandled rejection would end the process.
 */
function settled<T>(step: Step, returned: T): T {
  if (!(returned instanceof Promise)) return returned;
  returned.catch(() => undefined);
  throw fault(step, 'is a handle and returned a promise; what awaits must be a run');
}

/** Whatever was thrown, as text that every store can keep (B-086). */
export function toHandlerError(error: unknown): HandlerError {
  try {
    if (!(error instanceof Error)) return { message: textOf(error) };
    const message = textOf(error.message);
    return error.stack === undefined ? { message } : { message, stack: textOf(error.stack) };
  } catch {
    return { message: 'an error that cannot be read' };
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return cleanText(value);
  try {
    return cleanText(String(value));
  } catch {
    return `a value of type ${typeof value} that has no text`;
  }
}

/**
 * Does what a handler asked for. Everything is checked before the step is touched.
 * @returns the state to go on in, or null.
 * @throws Error when the action is none, or not allowed here: a failure of the handler.
 */
export function applyAction(
  step: Step,
  action: Action | undefined,
  data: JsonObject,
): string | null {
  const stored = data === step.job.data ? data : storableObject(data, 'job.data');
  if (action === undefined) {
    if (step.state.end === null)
      throw fault(step, 'returned no action, and the state is no end state');
    step.set({ data: stored });
    return endHere(step);
  }
  if (!isJsonObject(action)) throw fault(step, 'must return exactly one action object');
  switch (action.type) {
    case 'transition':
      checkTarget(step, action.to);
      step.set({ data: stored });
      return action.to;
    case 'dispatch':
      return startTask(step, action, stored);
    case 'sleep': {
      checkTarget(step, action.to);
      const timers: Timer[] = [{ name: 'wake', afterMs: durationMs(action.duration) }];
      step.note({
        type: 'timer_set',
        state: step.job.state,
        to: action.to,
        delayMs: timers[0]?.afterMs ?? 0,
      });
      step.await(
        {
          status: 'waiting_for_timer',
          wait: { type: 'timer', to: action.to },
          data: stored,
          hops: 0,
        },
        timers,
      );
      return null;
    }
    case 'finish': {
      const result = action.result === undefined ? stored : storable(action.result, 'the result');
      step.set({ data: stored, result });
      endJob(step, 'finished', null);
      return null;
    }
    case 'fail': {
      const details =
        action.details === undefined ? {} : { details: storable(action.details, 'details') };
      step.set({ data: stored });
      endJob(step, 'failed', { code: 'FAILED', message: textOf(action.reason), ...details });
      return null;
    }
    case 'retry':
      return retryHandler(step, action, stored);
    default:
      throw fault(
        step,
        `returned an unknown action ${JSON.stringify((action as { type?: unknown }).type)}`,
      );
  }
}

function retryHandler(step: Step, action: RetryAction, data: JsonObject): null {
  const afterMs = action.after === undefined ? undefined : durationMs(action.after);
  step.set({ data });
  failHandler(step, {
    message: textOf(action.reason),
    ...(action.class === undefined ? {} : { class: textOf(action.class) }),
    ...(afterMs === undefined ? {} : { afterMs }),
  });
  return null;
}

function checkTarget(step: Step, to: string): void {
  if (step.state.to.has(to) || to === failedState) return;
  throw fault(
    step,
    `leads to "${to}", which is not among its to: ${[...step.state.to].join(', ') || 'none'}`,
  );
}

function fault(step: Step, problem: string): Error {
  return new Error(
    `blueprint "${step.blueprint.name}", state "${step.job.state}": the handler ${problem}`,
  );
}

/**
 * A copy that every store keeps.
 * @throws Error when it can't be kept: a failure of the handler.
 */
function storable(value: unknown, what: string): JsonValue {
  const room = { left: maxPayload };
  const cleaned = cleanJson(value, 0, room);
  if (cleaned !== undefined) return cleaned;
  if (room.left < 0)
    throw new Error(`${what} holds more than 16 Mi characters (each value counts as 8)`);
  throw new Error(
    `${what} holds what JSON cannot: a function, a bigint, a cycle or more than 64 levels`,
  );
}

function storableObject(value: unknown, what: string): JsonObject {
  const cleaned = storable(value, what);
  if (isJsonObject(cleaned)) return cleaned;
  throw new Error(`${what} must be an object, not ${JSON.stringify(cleaned).slice(0, 100)}`);
}

function startTask(step: Step, action: DispatchAction, data: JsonObject): null {
  const on = targetsOf(step, action);
  for (const target of Object.values(on)) checkTarget(step, target);
  const spec = taskSpec(step, action);
  const delay = action.options.delay;
  const delayMs = delay === undefined ? 0 : durationMs(delay);
  const taskId = step.context.newId();
  step.await({
    status: 'waiting_for_worker',
    wait: { type: 'task', taskId, on },
    data,
    hops: 0,
  });
  step.note({
    type: 'task_dispatched',
    state: step.job.state,
    task: taskId,
    taskTo: 'PENDING',
    details: { skill: spec.skill, priority: spec.priority },
    ...(delayMs > 0 ? { delayMs } : {}),
  });
  step.task({ type: 'start', taskId, spec, timers: queueTimers(spec, delayMs, true) });
  return null;
}

/** A copy: what the handler still holds may not change what was decided. */
function targetsOf(step: Step, { options }: DispatchAction): Readonly<Record<string, string>> {
  const on = cleanJson(options.on);
  if (!isJsonObject(on)) throw fault(step, 'dispatches without on: { status: state }');
  const targets = Object.entries(on).map(([status, target]) => {
    if (typeof target === 'string') return [status, target] as const;
    throw fault(step, `dispatches with on.${status} that names no state`);
  });
  return Object.fromEntries(targets);
}

function taskSpec(step: Step, { skill, params, options }: DispatchAction): TaskSpec {
  const { job } = step;
  const priority = options.priority ?? job.options.priority;
  if (typeof priority !== 'number' || !(Math.abs(priority) <= maxPriority)) {
    throw fault(
      step,
      `dispatches with priority ${priority}; it goes from -${maxPriority} to ${maxPriority}`,
    );
  }
  if (typeof skill !== 'string' || skill === '') throw fault(step, 'dispatches without a skill');
  const [unknown] = unknownKeys(options, dispatchKeys);
  if (unknown !== undefined)
    throw fault(step, `dispatches with an option that is none: ${unknown}`);
  const strategy = options.strategy ?? 'default';
  if (!strategyNames.includes(strategy)) {
    throw fault(
      step,
      `dispatches with strategy "${strategy}"; there is ${strategyNames.join(', ')}`,
    );
  }
  const maxCost = options.maxCost ?? null;
  if (maxCost !== null && !Number.isFinite(maxCost)) {
    throw fault(step, `dispatches with maxCost ${maxCost}, which is no number`);
  }
  const ms = (text: string | undefined): number | null =>
    text === undefined ? null : durationMs(text);
  return {
    client: job.client,
    skill: cleanText(skill),
    params: storableObject(params, 'params'),
    requirements: taskRequirements(step, options.requirements ?? {}),
    strategy,
    maxCost,
    priority,
    dispatchTimeoutMs: ms(options.dispatchTimeout) ?? job.options.dispatchTimeoutMs,
    resultTimeoutMs: ms(options.resultTimeout) ?? job.options.resultTimeoutMs,
    executionLimitMs: ms(options.executionLimit) ?? defaultExecutionLimitMs,
    retry: taskRetry(step, options.retry),
    metadata: options.metadata === undefined ? null : storableObject(options.metadata, 'metadata'),
    correlationId: job.correlationId,
    trace: job.trace,
  };
}

function taskRequirements(step: Step, asked: Requirements): Requirements {
  const cleaned = storableObject(asked, 'requirements');
  const problem = requirementsProblem(cleaned);
  if (problem !== null) throw fault(step, `dispatches with requirements whose ${problem}`);
  // The check above is what the type says.
  return cleaned as Requirements;
}

function taskRetry(step: Step, options: DispatchAction['options']['retry']): RetryPolicy {
  if (options === undefined) return step.state.retry(step.job);
  const policy = retryPolicy(options, (field, problem) => {
    throw fault(step, `dispatches with retry.${field} that ${problem}`);
  });
  if (!isRetryTarget(policy.then, step.state.to)) checkTarget(step, policy.then);
  return policy;
}

/** The deadlines of a task that goes to the queue after a delay; none runs during the delay. */
export function queueTimers(spec: TaskSpec, delayMs: number, first: boolean): Timer[] {
  const timers: Timer[] = [];
  if (delayMs > 0) timers.push({ name: 'ready', afterMs: delayMs });
  if (spec.dispatchTimeoutMs !== null) {
    timers.push({ name: 'dispatch', afterMs: delayMs + spec.dispatchTimeoutMs });
  }
  if (first && spec.resultTimeoutMs !== null) {
    timers.push({ name: 'result', afterMs: delayMs + spec.resultTimeoutMs });
  }
  return timers;
}

/** A throw, or `retry()`: the same handler again after a back-off, else where the rule says. */
export function failHandler(step: Step, error: HandlerError): void {
  const failures = step.job.failures + 1;
  const policy = handlerRetry(step, error.class);
  step.set({ failures });
  const spent = failures > policy.max;
  const delayMs = error.afterMs ?? backoffMs(policy, failures, step.context.chance);
  step.note({
    type: 'handler_failed',
    state: step.job.state,
    number: failures,
    reason: error.message,
    ...(error.stack === undefined ? {} : { details: { stack: error.stack } }),
    ...(spent ? {} : { delayMs }),
  });
  if (spent) {
    const failure = { code: error.class ?? 'HANDLER_FAILED', message: error.message };
    return giveUp(step, policy.then, failure, { type: 'handler' });
  }
  step.await({ status: 'waiting_for_timer', wait: { type: 'timer', to: null } }, [
    { name: 'wake', afterMs: delayMs },
  ]);
}

/** A retry function of the user's that throws must not keep the failure from being written. */
export function handlerRetry(step: Step, failureClass?: string): RetryPolicy {
  try {
    return step.state.retry(step.job, failureClass);
  } catch {
    return retryPolicy({}, () => undefined);
  }
}

/** Retries are spent: quarantine, or the state that the rule names. */
export function giveUp(step: Step, then: string, error: JobError, resume: Resume): void {
  if (then === quarantine) return parkJob(step, error, resume);
  step.set({ error });
  enterState(step, then);
}

export function parkJob(step: Step, error: JobError, resume: Resume): void {
  step.await({ status: 'quarantined', wait: null, error, resume });
  step.note({
    type: 'job_quarantined',
    state: step.job.state,
    reason: error.message,
    details: { code: error.code },
  });
}

/** The implicit edge of every state: the state `failed` where the blueprint has one, else the end. */
export function toFailed(step: Step, error: JobError): void {
  step.set({ error });
  enterState(step, failedState);
}

export function endJob(
  step: Step,
  status: FinalStatus,
  error: JobError | null,
  state = step.job.state,
): void {
  step.await({
    status,
    state,
    wait: null,
    resume: null,
    error,
    result: status === 'finished' ? step.job.result : null,
  });
  step.note({
    type: `job_${status}`,
    state,
    ...(error === null ? {} : { reason: error.message, details: { code: error.code } }),
  });
}

/** In a state that means failure; `state` may be the `failed` that the blueprint does not have. */
function endFailed(step: Step, state = step.job.state): void {
  const error = step.job.error ?? { code: 'FAILED', message: `ended in state "${state}"` };
  endJob(step, 'failed', error, state);
}

function endHere(step: Step): null {
  const { end } = step.state;
  if (end === 'failed') {
    endFailed(step);
  } else if (end === 'finished') {
    step.set({ result: step.job.result ?? step.job.data });
    endJob(step, 'finished', null);
  } else {
    // Registration demands a default handler in every other state.
    throw fault(step, 'has no branch that holds');
  }
  return null;
}

function endLoop(step: Step): void {
  endJob(step, 'failed', {
    code: 'LOOP',
    message: `more than ${step.context.maxTransitions} transitions without a wait; the last state was "${step.job.state}"`,
  });
}
