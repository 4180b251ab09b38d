import { unreachable } from '../std/assert.ts';
import {
  applyAction,
  beginJob,
  endJob,
  enterStart,
  enterState,
  failHandler,
  giveUp,
  handlerRetry,
  parkJob,
  runState,
  toHandlerError,
} from './advance.ts';
import {
  endCancelled,
  isRepeated,
  onDecided,
  onInbox,
  onOutside,
  onWaitDeadline,
} from './answers.ts';
import type { Blueprint } from './blueprint.ts';
import type { Decision } from './change.ts';
import { queueTask } from './dispatch.ts';
import type { Job, TaskSpec } from './job.ts';
import { queueForShare } from './shares.ts';
import type {
  CancelSignal,
  ClaimedSignal,
  CreatedSignal,
  DeadlineSignal,
  DismissSignal,
  HandledSignal,
  HandlerFailedSignal,
  HandlerLostSignal,
  RedriveSignal,
  RefusalReason,
  Signal,
  SignalType,
  StrandedSignal,
} from './signal.ts';
import { type JobStatus, jobStatuses } from './status.ts';
import { type DecideContext, Step } from './step.ts';
import { onReport, onReturn, onTaskDeadline } from './task-rules.ts';

/**
 * The one way a job changes: a pure function of the job, the signal and the blueprint. It reads no
 * clock, no random source and no store; the same arguments give the same decision. `blueprint` may
 * be null (its version is gone) for what needs none: cancel, hold, release, orphaned.
 */
export function decide(
  job: Job,
  signal: Signal,
  blueprint: Blueprint | null,
  context: DecideContext,
): Decision {
  const reaction = reactions[signal.type][job.status];
  if (signal.type === 'decided' && isRepeated(job, signal))
    return { type: 'refusal', reason: 'decided_already' };
  if (reaction !== 'applies') return { type: 'refusal', reason: reaction };
  const step = new Step(job, blueprint, context);
  const refusal = apply(step, signal);
  return refusal === null
    ? { type: 'change', ...step.toChange() }
    : { type: 'refusal', reason: refusal, ...(step.said === null ? {} : { said: step.said }) };
}

/** What a signal meets in a status: it applies, or this is why it changes nothing. */
export type Reaction = 'applies' | RefusalReason;

const waiting = [
  'waiting_for_worker',
  'waiting_for_human',
  'waiting_for_parallel',
  'waiting_for_child',
  'waiting_for_event',
  'waiting_for_timer',
] as const;
const open: readonly JobStatus[] = ['pending', 'running', ...waiting];

function reaction(
  admitted: readonly JobStatus[],
  otherwise: RefusalReason,
  ended: Partial<Record<JobStatus, RefusalReason>> = {},
): Readonly<Record<JobStatus, Reaction>> {
  const pairs = jobStatuses.map((status) => [
    status,
    admitted.includes(status) ? 'applies' : (ended[status] ?? otherwise),
  ]);
  return Object.fromEntries(pairs) as Record<JobStatus, Reaction>;
}

const overForWorkers = {
  finished: 'job_already_terminated',
  failed: 'job_already_terminated',
  cancelled: 'job_cancelled',
} as const;

const over = {
  finished: 'job_already_terminated',
  failed: 'job_already_terminated',
  cancelled: 'job_already_terminated',
} as const;

/** A branch that was given up parks its job; the others go on. */
const withTasks = ['waiting_for_worker', 'waiting_for_parallel', 'quarantined'] as const;

/**
 * Every pair of signal and status (docs/reference/transitions.md is generated from it). A pair
 * that applies may still refuse by its particulars: another attempt, another lease.
 */
export const reactions: Readonly<Record<SignalType, Readonly<Record<JobStatus, Reaction>>>> = {
  created: reaction(['pending'], 'job_exists'),
  claimed: reaction(['pending', 'running'], 'not_runnable', over),
  handled: reaction(['running'], 'lease_not_current'),
  handler_failed: reaction(['running'], 'lease_not_current'),
  handler_lost: reaction(['running'], 'lease_not_current'),
  reported: reaction(withTasks, 'stale_task', overForWorkers),
  returned: reaction(withTasks, 'stale_task', overForWorkers),
  deadline: reaction(['pending', ...waiting, 'quarantined'], 'nothing_due'),
  cancel: reaction([...open, 'quarantined'], 'job_already_terminated'),
  hold: reaction(open, 'job_already_terminated', { quarantined: 'already_quarantined' }),
  release: reaction([...open, 'quarantined'], 'job_already_terminated'),
  redrive: reaction(['quarantined'], 'not_quarantined', over),
  dismiss: reaction(['quarantined'], 'not_quarantined', over),
  orphaned: reaction(open, 'job_already_terminated', { quarantined: 'already_quarantined' }),
  stranded: reaction(open, 'job_already_terminated', { quarantined: 'already_quarantined' }),
  outside: reaction(open, 'job_already_terminated', { quarantined: 'signal_not_expected' }),
  decided: reaction(['waiting_for_human'], 'nothing_to_decide'),
  inbox: reaction([...open, 'quarantined'], 'job_already_terminated'),
};

function apply(step: Step, signal: Signal): RefusalReason | null {
  switch (signal.type) {
    case 'created':
      return onCreated(step, signal);
    case 'claimed':
      return onClaimed(step, signal);
    case 'handled':
      return onHandled(step, signal);
    case 'handler_failed':
      return onHandlerFailed(step, signal);
    case 'handler_lost':
      return onHandlerLost(step, signal);
    case 'reported':
      return onReport(step, signal);
    case 'returned':
      return onReturn(step, signal);
    case 'deadline':
      return onDeadline(step, signal);
    case 'cancel':
      return onCancel(step, signal);
    case 'hold':
      return onHold(step, true, signal.actor);
    case 'release':
      return onHold(step, false, signal.actor);
    case 'redrive':
      return onRedrive(step, signal);
    case 'dismiss':
      return onDismiss(step, signal);
    case 'orphaned':
      return onOrphaned(step);
    case 'stranded':
      return onStranded(step, signal);
    case 'outside':
      return onOutside(step, signal);
    case 'decided':
      return onDecided(step, signal);
    case 'inbox':
      return onInbox(step, signal);
    default:
      return unreachable(signal);
  }
}

function onCreated(step: Step, { startDelayMs }: CreatedSignal): RefusalReason | null {
  if (step.job.version !== 0) return 'job_exists';
  beginJob(step, startDelayMs);
  return null;
}

function onClaimed(step: Step, { lease, forMs }: ClaimedSignal): RefusalReason | null {
  const { job } = step;
  if (job.wait !== null || job.lease !== null || job.held || job.entry === 0) return 'not_runnable';
  step.claim({ lease, forMs });
  return null;
}

function onHandled(
  step: Step,
  { token, action, data, emissions }: HandledSignal,
): RefusalReason | null {
  if (step.job.lease?.token !== token) return 'lease_not_current';
  try {
    const next = applyAction(step, action, data, emissions);
    if (next !== null) enterState(step, next);
  } catch (error) {
    failHandler(step, toHandlerError(error));
  }
  return null;
}

function onHandlerFailed(step: Step, { token, error }: HandlerFailedSignal): RefusalReason | null {
  if (step.job.lease?.token !== token) return 'lease_not_current';
  failHandler(step, error);
  return null;
}

/** Counted like a failure, yet not delayed: nothing says that the handler itself is at fault. */
function onHandlerLost(step: Step, { token }: HandlerLostSignal): RefusalReason | null {
  if (step.job.lease?.token !== token) return 'lease_not_current';
  const failures = step.job.failures + 1;
  const policy = handlerRetry(step);
  step.set({ failures });
  step.note({
    type: 'handler_lost',
    state: step.job.state,
    number: failures,
    details: { instance: step.job.lease.instance },
  });
  if (failures > policy.max) {
    const error = { code: 'HANDLER_LOST', message: `the handler was lost ${failures} times` };
    giveUp(step, policy.then, error, { type: 'handler' });
  } else {
    step.await({ status: 'running', wait: null });
  }
  return null;
}

function onDeadline(step: Step, signal: DeadlineSignal): RefusalReason | null {
  const { name, task, at } = signal;
  if (at !== undefined) step.fire({ taskId: task?.id ?? null, name, at });
  if (signal.task !== null) return onTaskDeadline(step, signal, signal.task);
  const { wait } = step.job;
  if (signal.name !== 'wake') return onWaitDeadline(step, signal.name);
  if (wait?.type !== 'timer') return 'nothing_due';
  if (wait.to !== null) enterState(step, wait.to);
  else rerun(step);
  return null;
}

/** The present state's handler again, in the same stay in the state; or the first, if none was entered. */
function rerun(step: Step): void {
  if (step.job.entry === 0) return enterStart(step);
  const next = runState(step);
  if (next !== null) enterState(step, next);
}

function onCancel(step: Step, { actor, reason }: CancelSignal): null {
  step.leaveWait();
  endCancelled(step, actor, reason);
  return null;
}

function onHold(step: Step, held: boolean, actor: string): RefusalReason | null {
  if (step.job.held === held) return held ? 'already_held' : 'not_held';
  step.set({ held });
  step.note({ type: held ? 'job_held' : 'job_released', actor });
  return null;
}

function onRedrive(step: Step, { actor }: RedriveSignal): null {
  const { resume, state } = step.job;
  step.set({ error: null, resume: null, failures: 0, hops: 0, state: resume?.state ?? state });
  step.note({ type: 'job_redriven', state: step.job.state, actor });
  if (resume === null || resume.type === 'handler') {
    rerun(step);
  } else if (resume.type === 'task') {
    const { taskId, on, spec } = resume;
    if (!reserveAgain(step, spec)) return null;
    step.await({ status: 'waiting_for_worker', wait: { type: 'task', taskId, on } });
    queueTask(step, taskId, spec);
  } else {
    step.await({ status: 'waiting_for_parallel', wait: resume.wait });
    for (const { taskId, spec } of resume.parked) queueTask(step, taskId, spec);
  }
  return null;
}

/** @returns false where the place of the task is taken: then its handler runs again once it is free. */
function reserveAgain(step: Step, { share }: TaskSpec): boolean {
  if (share === undefined) return true;
  if (step.context.full.has(share.key)) {
    queueForShare(step, { ...share, amount: 1 });
    return false;
  }
  step.reserve({ ...share, amount: 1, expiresAfterMs: null, until: 'wait' });
  return true;
}

function onDismiss(step: Step, { actor, reason }: DismissSignal): null {
  step.note({ type: 'job_dismissed', state: step.job.state, reason, actor });
  step.task({ type: 'cancel_all' });
  const error = step.job.error ?? { code: 'DISMISSED', message: reason };
  endJob(step, 'failed', error, step.shownAs('failed'));
  return null;
}

/** Decided without the blueprint, which is gone: nothing here may look at `step.state`. */
function onOrphaned(step: Step): null {
  const { blueprint, blueprintVersion } = step.job;
  const message = `no instance offers blueprint "${blueprint}" version ${blueprintVersion}`;
  step.leaveWait();
  step.task({ type: 'cancel_all' });
  parkJob(step, { code: 'BLUEPRINT_GONE', message }, { type: 'handler' });
  return null;
}

/** What was damaged from outside waits for a person, who redrives or dismisses it. */
function onStranded(step: Step, { problem }: StrandedSignal): null {
  step.note({ type: 'job_repaired', state: step.job.state, reason: problem });
  step.leaveWait();
  step.task({ type: 'cancel_all' });
  parkJob(step, { code: 'LIMBO', message: problem }, { type: 'handler' });
  return null;
}
