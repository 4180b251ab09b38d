import { durationMs } from '../std/duration.ts';
import { cleanText, isJsonObject, type JsonObject } from '../std/json.ts';
import type { RetryAction, SleepAction } from './action.ts';
import type { Action } from './any-action.ts';
import { failedState, type Handler } from './blueprint.ts';
import type { ShareWish } from './change.ts';
import { checkedEmission, checkTarget, fault, storable, storableObject } from './checks.ts';
import { startTask } from './dispatch.ts';
import type { Emission } from './emit.ts';
import { HandlerView } from './handler.ts';
import type { JobError, Resume } from './job.ts';
import { sayLastWords } from './last-words.ts';
import { backoffMs, quarantine, type RetryPolicy, retryPolicy } from './retry.ts';
import type { Shares } from './share-actions.ts';
import { checkShares, fullShare, queueForShare, sharesOf, takeShares } from './shares.ts';
import type { HandlerError } from './signal.ts';
import type { FinalStatus } from './status.ts';
import type { Step } from './step.ts';
import { beginApproval, beginChild, beginParallel, beginWaitFor } from './waits.ts';

/** The first step of a job: its start state, or the delay before it, or the place it waits for. */
export function beginJob(step: Step, startDelayMs: number): void {
  step.note({
    type: 'job_created',
    state: step.job.state,
    details: { blueprint: step.job.blueprint, version: step.job.blueprintVersion },
    ...(startDelayMs > 0 ? { delayMs: startDelayMs } : {}),
  });
  if (startDelayMs > 0) {
    step.await({ status: 'pending', wait: { type: 'timer', to: null } }, [
      { name: 'wake', afterMs: startDelayMs },
    ]);
  } else {
    enterStart(step);
  }
}

/** Behind its concurrency key, if it has one. */
export function enterStart(step: Step): void {
  const { concurrency } = step.job.options;
  if (concurrency !== null) {
    const { key, limit, onBusy } = concurrency;
    if (step.context.full.has(key)) {
      const wish = { key, amount: 1, limit };
      return onBusy === 'queue' ? queueForShare(step, wish) : endLimited(step, key);
    }
    step.reserve({ key, amount: 1, limit, expiresAfterMs: null, until: 'job' });
  }
  enterState(step, step.blueprint.start);
}

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
  leaveBareSubState(step);
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
    return applyAction(step, action ?? undefined, view.dataAfter(), view.emissions);
  } catch (error) {
    failHandler(step, toHandlerError(error));
    return null;
  }
}

/** A sub-state without a handler only shows a wait of its parent's: what runs again is the parent. */
function leaveBareSubState(step: Step): void {
  for (let { state } = step; state.handlers.length === 0 && state.end === null; { state } = step) {
    if (state.parent === null) return;
    step.set({ state: state.parent });
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
  emissions: readonly Emission[] = [],
): string | null {
  const emitted = emissions.map(checkedEmission);
  const stored = data === step.job.data ? data : storableObject(data, 'job.data');
  if (action === undefined) {
    if (step.state.end === null)
      throw fault(step, 'returned no action, and the state is no end state');
    for (const one of emitted) step.emit(one);
    step.set({ data: stored });
    return endHere(step);
  }
  if (!isJsonObject(action)) throw fault(step, 'must return exactly one action object');
  const shares = sharesOf(action);
  checkShares(shares);
  const full = fullShare(step, shares);
  if (full !== null) return withoutShare(step, shares, full, stored);
  const { place } = step;
  const next = perform(step, action, stored);
  takeShares(step, shares);
  for (const [index, one] of emitted.entries()) step.emit(one, place + index);
  return next;
}

/** @returns the state to go on in, or null. */
function perform(step: Step, action: Action, data: JsonObject): string | null {
  switch (action.type) {
    case 'transition':
      checkTarget(step, action.to);
      step.set({ data });
      return action.to;
    case 'dispatch':
      return startTask(step, action, data);
    case 'parallel':
      return beginParallel(step, action, data);
    case 'approval':
      return beginApproval(step, action, data);
    case 'child':
      return beginChild(step, action, data, (child) => beginJob(child, 0));
    case 'waitFor':
      return beginWaitFor(step, action, data);
    case 'sleep':
      return beginSleep(step, action, data);
    case 'stay':
      throw fault(step, 'returned stay, which only the row of a signal may');
    case 'refuse':
      throw fault(step, 'returned refuse, which only the row of a signal may');
    case 'finish':
      step.set({
        data,
        result: action.result === undefined ? data : storable(action.result, 'the result'),
      });
      endJob(step, 'finished', null);
      return null;
    case 'fail': {
      const details =
        action.details === undefined ? {} : { details: storable(action.details, 'details') };
      step.set({ data });
      endJob(step, 'failed', { code: 'FAILED', message: textOf(action.reason), ...details });
      return null;
    }
    case 'retry':
      return retryHandler(step, action, data);
    default:
      throw fault(
        step,
        `returned an unknown action ${JSON.stringify((action as { type?: unknown }).type)}`,
      );
  }
}

function withoutShare(
  step: Step,
  { onLimit = 'queue' }: Shares,
  wish: ShareWish,
  data: JsonObject,
): string | null {
  if (onLimit === 'queue') {
    queueForShare(step, wish);
    return null;
  }
  if (onLimit !== 'fail') {
    checkTarget(step, onLimit.to);
    step.set({ data });
    return onLimit.to;
  }
  endLimited(step, wish.key);
  return null;
}

function endLimited(step: Step, key: string): void {
  const error = { code: 'LIMIT', message: `the limit of "${key}" is used up` };
  endJob(step, 'failed', error, step.shownAs('failed'));
}

function beginSleep(step: Step, { duration, to }: SleepAction, data: JsonObject): null {
  checkTarget(step, to);
  const afterMs = durationMs(duration);
  step.note({ type: 'timer_set', state: step.job.state, to, delayMs: afterMs });
  const wait = { type: 'timer', to } as const;
  step.await({ status: 'waiting_for_timer', wait, data, hops: 0 }, [{ name: 'wake', afterMs }]);
  return null;
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
  const { state } = step.job;
  const shown = step.shownAs('quarantined');
  sayLastWords(step, { how: 'quarantined', actor: null, reason: error.message });
  const whereFrom = shown === state ? resume : { state, ...resume };
  step.await({ status: 'quarantined', state: shown, wait: null, error, resume: whereFrom });
  step.tellParent('quarantined');
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
  enterState(step, step.shownAs('failed', failedState));
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
  step.tellParent(status);
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
