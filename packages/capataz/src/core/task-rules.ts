import { errorClass } from '../protocol/worker-errors.ts';
import { assert, unreachable } from '../std/assert.ts';
import { isJsonObject, type JsonValue, jsonWeight } from '../std/json.ts';
import { endJob, enterState, giveUp, parkJob, toFailed } from './advance.ts';
import { maxPayload } from './checks.ts';
import { queueTimers } from './dispatch.ts';
import type { HistoryEntry } from './history.ts';
import type { Answer, BranchResult, JobError, Resume, Task } from './job.ts';
import { backoffMs, quarantine } from './retry.ts';
import type {
  DeadlineSignal,
  RefusalReason,
  Report,
  ReportedSignal,
  ReturnedSignal,
} from './signal.ts';
import type { TaskEnd } from './status.ts';
import type { Step } from './step.ts';

/** The task's side of a job: reports, attempts that come back, deadlines. */

export function onReport(
  step: Step,
  { task, attempt, worker, report }: ReportedSignal,
): RefusalReason | null {
  if (task?.attempt?.id !== attempt || !isOpen(step, task)) return 'stale_task';
  if (task.attempt.worker !== worker) return 'worker_mismatch';
  if (report.error !== undefined) onWorkerError(step, task, report.error);
  else onResult(step, task, report);
  return null;
}

/** Whether the job still waits for it: alone, or as a branch, also while another branch is parked. */
function isOpen({ job: { wait, resume } }: Step, task: Task): boolean {
  if (wait?.type === 'task') return wait.taskId === task.id;
  return (
    task.spec.branch !== undefined && (wait?.type === 'parallel' || resume?.type === 'parallel')
  );
}

function targetsOf({ job: { wait } }: Step, { spec }: Task): Readonly<Record<string, string>> {
  if (spec.branch !== undefined) return spec.branch.on;
  return wait?.type === 'task' ? wait.on : {};
}

function targetOf(step: Step, task: Task, status: string): string | undefined {
  const on = targetsOf(step, task);
  return Object.hasOwn(on, status) ? on[status] : undefined;
}

function onResult(step: Step, task: Task, report: Report): void {
  const status = report.status ?? 'success';
  const { data } = report;
  if (task.spec.branch !== undefined) return onBranchResult(step, task, status, data ?? null);
  const merged = isJsonObject(data);
  endTask(step, task, resultStatus(status), 'task_finished', {
    reason: status,
    ...(data === undefined || merged ? {} : { details: { data } }),
  });
  if (merged) {
    const together = { ...step.job.data, ...data };
    if (jsonWeight(together, maxPayload) >= maxPayload) return tooMuch(step, task);
    step.set({ data: together });
  }
  const target = targetOf(step, task, status);
  if (target !== undefined) return enterState(step, target);
  toFailed(step, {
    code: 'UNKNOWN_STATUS',
    message: `the worker reported "${status}", and the state maps only ${Object.keys(targetsOf(step, task)).join(', ')}`,
  });
}

/** A mapped status other than success stops the fan-out; every other is collected (S-30). */
function onBranchResult(step: Step, task: Task, status: string, data: JsonValue): void {
  const target = status === 'success' ? undefined : targetOf(step, task, status);
  const end = resultStatus(status);
  if (target !== undefined && step.job.wait !== null) {
    endTask(step, task, end, 'task_finished', { reason: status });
    return failFast(step, target, { name: status, data });
  }
  collect(step, task, end, 'task_finished', { status, data, error: null });
}

/** The task itself has ended; its siblings have not. */
function leaveFanOut(step: Step, { spec }: Task): void {
  // Also where the fan-out is parked already for another branch, and waits for nothing.
  if (spec.branch !== undefined) step.task({ type: 'cancel_all' });
}

/** The siblings are cancelled and fenced. */
function failFast(step: Step, target: string, answer: Answer): void {
  step.leaveWait();
  step.set({ wait: null, answer });
  enterState(step, target);
}

/** The job itself stays as it is: only the last branch makes it move. */
function collect(
  step: Step,
  task: Task,
  end: TaskEnd,
  type: HistoryEntry['type'],
  ended: Pick<BranchResult, 'status' | 'data' | 'error'>,
): void {
  const { skill, branch } = task.spec;
  noteEnd(step, task, end, type, { reason: ended.error?.code ?? ended.status });
  step.task({
    type: 'collect',
    taskId: task.id,
    attempt: task.attempt?.id ?? null,
    from: task.status,
    status: end,
    result: { index: branch?.index ?? 0, skill, ...ended },
  });
}

/** Results add up: each may be allowed, and all of them together too long for any store. */
function tooMuch(step: Step, task: Task): void {
  toFailed(step, {
    code: 'DATA_TOO_LARGE',
    message: `the result of task ${task.id} would make job.data hold more than 16 Mi characters`,
  });
}

function resultStatus(status: string): TaskEnd {
  if (status === 'cancelled') return 'CANCELLED';
  return status === 'failure' ? 'FAILED' : 'SUCCEEDED';
}

function onWorkerError(step: Step, task: Task, error: NonNullable<Report['error']>): void {
  const failure = jobError(error.code, error.message, error.details);
  const reason = `${error.code}: ${error.message}`;
  const kind = errorClass(error.code);
  if (kind === 'transient') {
    return retryTask(
      step,
      task,
      { failures: task.failures + 1, lostRuns: task.lostRuns },
      reason,
      failure,
    );
  }
  endTask(step, task, 'FAILED', 'task_failed', { reason });
  if (kind === 'permanent') return parkJob(step, failure, resumeTask(step, task));
  leaveFanOut(step, task);
  endJob(step, 'failed', failure, step.shownAs('failed'));
}

export function onReturn(
  step: Step,
  { task, attempt, cause }: ReturnedSignal,
): RefusalReason | null {
  if (task?.attempt?.id !== attempt || !isOpen(step, task)) return 'stale_task';
  const { failures, lostRuns } = task;
  switch (cause) {
    case 'not_delivered':
    case 'not_started':
      requeue(step, task, { failures, lostRuns }, cause, 0);
      return null;
    case 'handed_back':
      retryTask(
        step,
        task,
        { failures: failures + 1, lostRuns },
        cause,
        jobError('HANDED_BACK', 'the worker gave the task up'),
        0,
      );
      return null;
    case 'lost': {
      const runs = lostRuns + 1;
      const message = `worker lost ${runs} ${runs === 1 ? 'time' : 'times'}`;
      retryTask(step, task, { failures, lostRuns: runs }, cause, jobError('WORKER_LOST', message));
      return null;
    }
    case 'stuck':
      return onStuck(step, task);
    default:
      return unreachable(cause);
  }
}

/** Who finds attempts that are stuck. */
const timeoutMonitor = 'system:timeout_monitor';

/** A first sign of work may have come meanwhile: then it is stuck no more. */
function onStuck(step: Step, task: Task): RefusalReason | null {
  const { status, failures } = task;
  if (status !== 'ASSIGNED' && status !== 'SCHEDULED') return 'nothing_due';
  const code = `${status}_TIMEOUT`;
  const error = jobError(code, `the attempt was ${status} for too long without a sign of work`);
  const counts = { failures, lostRuns: task.lostRuns + 1 };
  retryTask(step, task, counts, code.toLowerCase(), error, undefined, timeoutMonitor);
  return null;
}

interface Counts {
  readonly failures: number;
  readonly lostRuns: number;
}

/** Reported failures and lost runs are capped by the same limit, each for itself (S-25). */
function retryTask(
  step: Step,
  task: Task,
  counts: Counts,
  reason: string,
  failure: JobError,
  delayMs?: number,
  actor?: string,
): void {
  const policy = task.spec.retry;
  const number = Math.max(counts.failures, counts.lostRuns);
  if (number <= policy.max) {
    return requeue(
      step,
      task,
      counts,
      reason,
      delayMs ?? backoffMs(policy, number, step.context.chance),
      actor,
    );
  }
  const by = actor === undefined ? {} : { actor };
  endTask(step, task, 'FAILED', 'task_failed', { reason, number, ...by });
  if (policy.then !== quarantine) leaveFanOut(step, task);
  giveUp(step, policy.then, failure, resumeTask(step, task));
}

function requeue(
  step: Step,
  task: Task,
  counts: Counts,
  reason: string,
  delayMs: number,
  actor?: string,
): void {
  step.note({
    ...about(task),
    type: 'task_failed',
    taskFrom: task.status,
    taskTo: 'FAILED',
    reason,
    ...(actor === undefined ? {} : { actor }),
  });
  step.note({
    type: 'task_requeued',
    task: task.id,
    taskFrom: 'FAILED',
    taskTo: 'PENDING',
    delayMs,
  });
  step.task({
    type: 'requeue',
    taskId: task.id,
    attempt: task.attempt?.id ?? null,
    from: task.status,
    ...counts,
    timers: queueTimers(task.spec, delayMs, false),
  });
}

export function onTaskDeadline(
  step: Step,
  { name }: DeadlineSignal,
  task: Task,
): RefusalReason | null {
  if (!isOpen(step, task)) return 'nothing_due';
  switch (name) {
    case 'ready':
      if (task.status !== 'PENDING') return 'nothing_due';
      makeReady(step, task);
      return null;
    case 'dispatch':
      if (task.status !== 'PENDING') return 'nothing_due';
      return spend(
        step,
        task,
        'CANCELLED',
        'task_cancelled',
        'DISPATCH_TIMEOUT',
        'no worker took the task within its dispatch timeout',
      );
    case 'result':
      return spend(
        step,
        task,
        'TIMEOUT',
        'task_timed_out',
        'RESULT_TIMEOUT',
        'no result came before the deadline',
      );
    case 'execution':
      if (task.attempt === null) return 'nothing_due';
      return spend(
        step,
        task,
        'TIMEOUT',
        'task_timed_out',
        'EXECUTION_LIMIT',
        'the attempt ran longer than its limit',
      );
    default:
      return 'nothing_due';
  }
}

function makeReady(step: Step, task: Task): void {
  const { failures, lostRuns } = task;
  const timers = queueTimers(task.spec, 0, false);
  step.note({ type: 'task_ready', task: task.id });
  step.task({
    type: 'requeue',
    taskId: task.id,
    attempt: null,
    from: task.status,
    failures,
    lostRuns,
    timers,
  });
}

/**
 * A spent deadline is not retried: it takes `on.timeout`, else `failed` (S-21). Of a branch that maps
 * no timeout it is collected.
 */
function spend(
  step: Step,
  task: Task,
  end: TaskEnd,
  type: HistoryEntry['type'],
  code: string,
  message: string,
): null {
  const error = jobError(code, message);
  const target = targetOf(step, task, 'timeout');
  const isBranch = task.spec.branch !== undefined;
  if (isBranch && (target === undefined || step.job.wait === null)) {
    collect(step, task, end, type, { status: 'timeout', data: null, error });
    return null;
  }
  endTask(step, task, end, type, { reason: code });
  if (target === undefined) {
    toFailed(step, error);
  } else {
    step.set({ error });
    if (isBranch) failFast(step, target, { name: 'timeout', data: null });
    else enterState(step, target);
  }
  return null;
}

function endTask(
  step: Step,
  task: Task,
  end: TaskEnd,
  type: HistoryEntry['type'],
  fields: Partial<HistoryEntry>,
): void {
  noteEnd(step, task, end, type, fields);
  step.task({
    type: 'end',
    taskId: task.id,
    attempt: task.attempt?.id ?? null,
    from: task.status,
    status: end,
  });
}

/** RUNNING may never have been written (S-26): the entry is folded in here. */
function noteEnd(
  step: Step,
  task: Task,
  end: TaskEnd,
  type: HistoryEntry['type'],
  fields: Partial<HistoryEntry>,
): void {
  const unstarted = task.attempt !== null && task.status !== 'RUNNING' && end === 'SUCCEEDED';
  if (unstarted)
    step.note({ ...about(task), type: 'task_started', taskFrom: task.status, taskTo: 'RUNNING' });
  step.note({
    ...about(task),
    type,
    taskFrom: unstarted ? 'RUNNING' : task.status,
    taskTo: end,
    ...fields,
  });
}

function about(task: Task): Pick<HistoryEntry, 'task' | 'attempt' | 'worker'> {
  if (task.attempt === null) return { task: task.id };
  return { task: task.id, attempt: task.attempt.id, worker: task.attempt.worker };
}

/** Where a redrive takes up: this task again, beside other branches that were parked before. */
function resumeTask({ job: { wait, resume } }: Step, { id, spec }: Task): Resume {
  if (wait?.type === 'task') return { type: 'task', taskId: id, on: wait.on, spec };
  const before = resume?.type === 'parallel' ? resume : null;
  const parallel = wait?.type === 'parallel' ? wait : before?.wait;
  assert(parallel !== undefined, 'a branch was given up outside of its fan-out');
  const state = before?.state === undefined ? {} : { state: before.state };
  return {
    type: 'parallel',
    wait: parallel,
    parked: [...(before?.parked ?? []), { taskId: id, spec }],
    ...state,
  };
}

function jobError(code: string, message: string, details?: JsonValue): JobError {
  return details === undefined ? { code, message } : { code, message, details };
}
