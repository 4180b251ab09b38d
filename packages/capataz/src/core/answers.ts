import { cleanText, type JsonObject, jsonWeight } from '../std/json.ts';
import { applyAction, enterState, toFailed } from './advance.ts';
import type { Action } from './any-action.ts';
import type { Blueprint, Row } from './blueprint.ts';
import { checkedEmission, checkTarget, maxPayload } from './checks.ts';
import type { Emission } from './emit.ts';
import { HandlerView } from './handler.ts';
import type { HistoryEntry } from './history.ts';
import type {
  Answer,
  ApprovalWait,
  BranchResult,
  EventWait,
  Job,
  ParallelWait,
  Wait,
} from './job.ts';
import { sayLastWords } from './last-words.ts';
import { fullShare, sharesOf } from './shares.ts';
import type {
  DecidedSignal,
  InboxItem,
  InboxSignal,
  OutsideSignal,
  RefusalReason,
  TimerName,
} from './signal.ts';
import { Step } from './step.ts';
import type { StayAction } from './wait-actions.ts';

/** What ends a wait, or leaves it standing: signals, decisions, children, branches, deadlines. */

/** Decisions whose repetition is recognised. */
const rememberedDecisions = 10;

export function onOutside(step: Step, signal: OutsideSignal): RefusalReason | null {
  const refusal = takeSignal(step, signal, signal.actor, signal.id);
  if (refusal === 'signal_not_expected' && step.blueprint.early.has(signal.name)) {
    return keepForLater(step, signal);
  }
  if (refusal === null) step.seen(signal.id);
  return refusal;
}

/** Lies in the inbox until the job waits for it. */
function keepForLater(step: Step, { id, name, data }: OutsideSignal): null {
  const item = { id: `signal:${id}`, kind: 'signal', name, body: data } as const;
  const expiresAfterMs = step.blueprint.early.get(name) ?? null;
  step.post({ jobId: step.job.id, item, expiresAfterMs });
  step.seen(id);
  step.note({ type: 'signal_kept', state: step.job.state, reason: name });
  return null;
}

/** Refused where nothing in the present wait, and no row of the state, takes it. */
function takeSignal(
  step: Step,
  { name, data }: Answer,
  actor: string,
  id: string,
): RefusalReason | null {
  const { wait, state } = step.job;
  if (wait === null || isEnginesOwn(wait)) return 'signal_not_expected';
  const taken = { type: 'signal_taken', state, reason: name, actor, details: { id } } as const;
  const target =
    'signals' in wait && Object.hasOwn(wait.signals, name) ? wait.signals[name] : undefined;
  const row = target ?? step.state.rows.get(name);
  if (row !== undefined) {
    return applyRow(step, row, { name, data }, taken);
  }
  if (wait.type !== 'event' || !resets(wait, name, false)) return 'signal_not_expected';
  step.note(taken);
  resetSilence(step, wait, name, false);
  return null;
}

/** Names of the signals that the job takes now: those of its wait, and rows of its state. */
export function takenSignals(
  { wait, state }: Pick<Job, 'wait' | 'state'>,
  blueprint: Pick<Blueprint, 'states'> | null,
): string[] {
  if (wait === null || isEnginesOwn(wait)) return [];
  const ofWait = 'signals' in wait ? Object.keys(wait.signals) : [];
  const resetBy = wait.type === 'event' ? wait.silence?.resetBy : undefined;
  const ofSilence = typeof resetBy === 'object' ? resetBy : [];
  const rows = blueprint?.states.get(state)?.rows.keys() ?? [];
  return [...new Set([...ofWait, ...rows, ...ofSilence])];
}

/** A handler's retry, or a delayed start, is no wait of the author's. */
function isEnginesOwn(wait: Wait): boolean {
  return wait.type === 'timer' && wait.to === null;
}

/** A row that throws changes nothing: its sender is told, and the job waits on. */
function applyRow(step: Step, row: Row, answer: Answer, taken: Taken): RefusalReason | null {
  if (typeof row === 'string') {
    step.note(taken);
    leaveFor(step, row, answer);
    return null;
  }
  try {
    const view = viewOf(step, answer);
    const action = typeof row === 'function' ? row(view, answer) : row;
    if (action?.type === 'refuse') {
      step.said = cleanText(action.reason);
      return 'row_refused';
    }
    step.note(action?.type === 'stay' ? noted(taken, action) : taken);
    if (action?.type === 'stay') return staying(step, action, view, answer);
    if (waitsForPlace(step, action)) return 'row_full';
    step.leaveWait();
    step.set({ wait: null, answer });
    const next = applyAction(step, action as Action, view.dataAfter(), view.emissions);
    if (next !== null) enterState(step, next);
    return null;
  } catch {
    return 'row_failed';
  }
}

/** In line for a place the signal would be forgotten: its sender has to come again. */
function waitsForPlace(step: Step, action: Action): boolean {
  const shares = sharesOf(action);
  return (shares.onLimit ?? 'queue') === 'queue' && fullShare(step, shares) !== null;
}

type Taken = Omit<HistoryEntry, 'details'> & { readonly details: JsonObject };

function noted(taken: Taken, { note }: StayAction<string>): Taken {
  return note === undefined ? taken : { ...taken, details: { ...taken.details, note } };
}

function viewOf(step: Step, answer: Answer): HandlerView {
  const { context, blueprint } = step;
  return new HandlerView({ ...step.job, answer }, { ...context, stores: blueprint.stores });
}

function staying(step: Step, action: StayAction<string>, view: HandlerView, answer: Answer): null {
  action.reduce?.(view.data, answer);
  if (action.in !== undefined && action.in !== step.job.state) showIn(step, action.in);
  const data = view.dataAfter();
  if (jsonWeight(data, maxPayload) >= maxPayload) throw new Error('job.data would be too large');
  step.set({ data });
  for (const emission of view.emissions) step.emit(checkedEmission(emission));
  const { wait } = step.job;
  if (wait?.type === 'event') {
    const { ask } = action;
    if (ask !== undefined) step.set({ wait: asking(wait, checkedEmission(ask)) });
    resetSilence(step, wait, answer.name, true);
  }
  return null;
}

function asking(wait: EventWait, emit: Emission): EventWait {
  return wait.poll === null ? wait : { ...wait, poll: { ...wait.poll, emit } };
}

/** The job is shown in another state and waits on. */
function showIn(step: Step, state: string): void {
  checkTarget(step, state);
  step.note({ type: 'state_entered', state, from: step.job.state });
  step.set({ state });
}

function resets({ silence }: EventWait, name: string, isMapped: boolean): boolean {
  if (silence === null) return false;
  if (silence.resetBy === 'mapped') return isMapped;
  return silence.resetBy === 'any' || silence.resetBy.includes(name);
}

function resetSilence(step: Step, wait: EventWait, name: string, isMapped: boolean): void {
  if (!resets(wait, name, isMapped) || wait.silence === null) return;
  step.rearm({ name: 'silence', afterMs: wait.silence.afterMs });
}

function leaveFor(step: Step, target: string, answer: Answer | null): void {
  step.leaveWait();
  step.set({ wait: null, ...(answer === null ? {} : { answer }) });
  enterState(step, target);
}

/** The very decision that was given on an earlier wait: harmless, whatever the job does now. */
export function isRepeated({ decided }: Job, { wait, decision }: DecidedSignal): boolean {
  return decided.some((one) => one.wait === wait && one.decision === decision);
}

export function onDecided(step: Step, signal: DecidedSignal): RefusalReason | null {
  const { wait, decided } = step.job;
  const { decision, comment, actor, data } = signal;
  const isBlind = signal.wait === null && signal.hash === null && signal.revision === null;
  if (wait?.type === 'approval' && showsUnnamed(wait, signal)) return 'hash_missing';
  // Said a second time it may mean the question before this one.
  if (isBlind && decided.length > 0) return 'decision_outdated';
  if (wait?.type !== 'approval') return 'nothing_to_decide';
  if (!isAbout(wait, signal)) return 'decision_outdated';
  const target =
    isReserved(decision) || !Object.hasOwn(wait.on, decision) ? undefined : wait.on[decision];
  if (target === undefined) return 'decision_unknown';
  step.note({
    type: 'approval_decided',
    state: step.job.state,
    reason: decision,
    actor,
    details: { wait: wait.id, hash: wait.hash, comment, data },
  });
  step.set({ decided: [...decided, { wait: wait.id, decision }].slice(-rememberedDecisions) });
  leaveFor(step, target, { name: decision, data: { approver: actor, comment, data } });
  return null;
}

/** Answers of the clock, which nobody can give. */
export function isReserved(decision: string): boolean {
  return decision === 'timeout' || decision === 'escalated';
}

/** A decision on content names it; on a mere message it may name nothing. */
function showsUnnamed(wait: ApprovalWait, { wait: id, hash, revision }: DecidedSignal): boolean {
  // Of another wait it is outdated, whatever it names.
  if (id !== null && id !== wait.id) return false;
  return hash === null && revision === null && wait.show !== null;
}

function isAbout(wait: ApprovalWait, { wait: id, hash, revision }: DecidedSignal): boolean {
  if (id !== null && id !== wait.id) return false;
  if (hash !== null && hash !== wait.hash) return false;
  return revision === null || revision === wait.revision;
}

/** Looks at what lies in the inbox. Where nothing helps, the alarm that asked is switched off. */
export function onInbox(step: Step, { items, at }: InboxSignal): RefusalReason | null {
  const { wait } = step.job;
  const order = items.find(({ kind }) => kind === 'cancel');
  if (order !== undefined) {
    step.take(order.id);
    step.leaveWait();
    endCancelled(step, 'parent', 'the job that started it waits no more');
    return null;
  }
  if (wait?.type === 'parallel') {
    const branches = items.filter(({ kind }) => kind === 'branch');
    if (branches.length === wait.count) return join(step, wait, branches);
  }
  if (wait?.type === 'child') {
    const child = items.find(({ kind, id }) => kind === 'child' && id === wait.jobId);
    if (child !== undefined) return onChild(step, child);
  }
  if (at !== null) {
    // What has come in since these items were read has set another alarm, which must stay.
    step.fire({ taskId: null, name: 'inbox', at });
    step.disarm('inbox');
    step.set({ unread: items.some(({ kind }) => kind === 'signal') });
  }
  let hasTaken = false;
  for (const item of items) {
    if (item.kind !== 'signal') continue;
    hasTaken = takeEarly(step, item) || hasTaken;
    // What a next wait may take is looked at when that has begun.
    if (step.isElsewhere) break;
  }
  return at !== null || hasTaken ? null : 'nothing_due';
}

/** @returns whether the job has taken it. */
function takeEarly(step: Step, { id, name, body }: InboxItem): boolean {
  const signal = { name, data: body };
  // Tried on a step of its own first: a refusal must leave no trace on this one.
  const signalId = id.replace(/^signal:/, '');
  const trial = new Step(step.job, step.blueprint, step.context);
  const refusal = takeSignal(trial, signal, 'early', signalId);
  if (refusal === 'signal_not_expected') return false;
  if (refusal === null) {
    step.take(id);
    takeSignal(step, signal, 'early', signalId);
    return true;
  }
  // It lies there until the next wait, or a mended row, takes it.
  step.note({ type: 'signal_refused', state: step.job.state, reason: `${name}: ${refusal}` });
  return false;
}

function join(step: Step, wait: ParallelWait, branches: readonly InboxItem[]): null {
  // Written by `collect`, as a BranchResult.
  const ended = branches.map(({ id, body }) => [id, body as unknown as BranchResult] as const);
  ended.sort(([, a], [, b]) => a.index - b.index);
  const results = Object.fromEntries(ended);
  for (const { id } of branches) step.take(id);
  step.note({ type: 'fan_out_ended', state: step.job.state, to: wait.to, number: wait.count });
  step.set({ wait: null });
  if (jsonWeight(results, maxPayload) >= maxPayload) {
    const message = 'the results of the fan-out hold more than 16 Mi characters';
    toFailed(step, { code: 'DATA_TOO_LARGE', message });
    return null;
  }
  step.bring({ results });
  enterState(step, wait.to);
  return null;
}

function onChild(step: Step, { id, name, body }: InboxItem): null {
  const { wait } = step.job;
  const on = wait?.type === 'child' ? wait.on : {};
  step.take(id);
  step.note({ type: 'child_ended', state: step.job.state, reason: name, details: { job: id } });
  const target = on[name] ?? (name === 'finished' ? on.success : on.failure);
  const ended = body as { result: null; error: null };
  step.set({ wait: null, answer: { name, data: { job_id: id, ...ended } } });
  if (target !== undefined) enterState(step, target);
  else toFailed(step, { code: `CHILD_${name.toUpperCase()}`, message: `child ${id} is ${name}` });
  return null;
}

export function endCancelled(step: Step, actor: string, reason: string): void {
  step.task({ type: 'cancel_all' });
  sayLastWords(step, { how: 'cancelled', actor, reason });
  step.await({
    status: 'cancelled',
    state: step.shownAs('cancelled'),
    wait: null,
    resume: null,
    result: null,
    error: { code: 'CANCELLED', message: reason },
  });
  step.tellParent('cancelled');
  step.note({ type: 'job_cancelled', state: step.job.state, reason, actor });
}

/** A deadline of a wait. */
export function onWaitDeadline(step: Step, name: TimerName): RefusalReason | null {
  const { wait } = step.job;
  switch (name) {
    case 'deadline':
      if (wait === null || !('on' in wait) || wait.type === 'task') return 'nothing_due';
      return spendWait(
        step,
        name,
        wait.on.timeout ?? (wait.type === 'child' ? wait.on.failure : undefined),
      );
    case 'silence':
      if (wait?.type !== 'event') return 'nothing_due';
      return isDeaf(step, wait) ? null : spendWait(step, name, wait.on.silence ?? wait.on.timeout);
    case 'poll':
      if (wait?.type !== 'event' || wait.poll === null) return 'nothing_due';
      return poll(step, wait.poll);
    case 'escalate':
      return wait?.type === 'approval' ? escalate(step, wait) : 'nothing_due';
    default:
      return 'nothing_due';
  }
}

/** A whole silence of days would never end where a server is restarted each night. */
const hearingWithoutPollMs = 120_000;

/** Nothing could be heard, or not for long enough: the silence goes on for what is missing of that. */
function isDeaf(step: Step, { subscription, poll, silence }: EventWait): boolean {
  if (subscription === null) return false;
  const hearingMs = poll?.everyMs ?? Math.min(silence?.afterMs ?? 0, hearingWithoutPollMs);
  const liveMs = step.context.liveForMs(subscription) ?? Number.POSITIVE_INFINITY;
  const missingMs = hearingMs - liveMs;
  if (missingMs <= 0) return false;
  step.note({
    type: 'silence_prolonged',
    state: step.job.state,
    reason: liveMs === 0 ? `subscription ${subscription} is down` : `it was down`,
    delayMs: missingMs,
  });
  step.rearm({ name: 'silence', afterMs: missingMs });
  return true;
}

function spendWait(step: Step, name: 'deadline' | 'silence', target: string | undefined): null {
  const code = name === 'silence' ? 'SILENCE' : 'WAIT_TIMEOUT';
  const message =
    name === 'silence' ? 'no signal came in time' : 'the wait took longer than its deadline';
  step.note({ type: 'wait_timed_out', state: step.job.state, reason: code });
  step.leaveWait();
  step.set({
    wait: null,
    error: { code, message },
    answer: { name: name === 'silence' ? name : 'timeout', data: null },
  });
  if (target === undefined) toFailed(step, { code, message });
  else enterState(step, target);
  return null;
}

function poll(step: Step, { everyMs, enter, emit }: NonNullable<EventWait['poll']>): null {
  if (emit !== null) step.emit(emit);
  step.note({ type: 'polled', state: step.job.state });
  if (enter !== null && enter !== step.job.state) {
    step.note({ type: 'state_entered', state: enter, from: step.job.state });
    step.set({ state: enter });
  }
  step.rearm({ name: 'poll', afterMs: everyMs });
  return null;
}

function escalate(step: Step, wait: ApprovalWait): null {
  step.note({ type: 'approval_escalated', state: step.job.state, details: { wait: wait.id } });
  const target = wait.on.escalated;
  if (target !== undefined) leaveFor(step, target, { name: 'escalated', data: null });
  else {
    step.set({ wait: { ...wait, escalated: true } });
    step.disarm('escalate');
  }
  return null;
}
