import type { Deadlines } from '../rules.ts';
import { afterRequeue, earliest } from '../rules.ts';
import type { FoundJob, PlannedTask, TaskPlan, Times } from './change-plan.ts';
import { writeChange } from './change-writes.ts';
import type { ChangeAnswer, ChangeMessage, TaskMessage } from './messages.ts';
import type { WriterState } from './writer-state.ts';

/** A change, and what the references in it mean. */
export interface AskedChange {
  readonly change: ChangeMessage;
  readonly texts: readonly string[];
}

/** Decides one change and stores it: everything is checked before the first thing is written. */
export function applyChange(
  state: WriterState,
  { change, texts }: AskedChange,
  at: number,
): ChangeAnswer {
  const { id, decidedOn } = change;
  const found = state.statements.get<FoundJob>('job-find', id);
  if (decidedOn === 0) {
    const refusal = creationRefusal(state, change, found !== undefined, at);
    if (refusal !== null) return refusal;
  } else if (found?.version !== decidedOn) return { type: 'stale' };

  const plan = planTasks(state, change.tasks, found);
  if (plan === null) return { type: 'stale' };
  const limit = limitRefusal(state, change, at);
  if (limit !== null) return limit;
  const next = timesAfter(change, found);
  if (!hasCause(state, change, next, plan, found)) return { type: 'no_cause' };

  const cancelled = writeChange(state, { change, texts, found, next, plan }, at);
  return { type: 'done', cancelled };
}

function creationRefusal(
  state: WriterState,
  change: ChangeMessage,
  isOpen: boolean,
  at: number,
): ChangeAnswer | null {
  const { id, client, idempotency } = change;
  if (idempotency !== null) {
    const used = state.statements.get<{ body_hash: string; job_id: string }>(
      'key-find',
      client,
      idempotency.key,
      at,
    );
    if (used !== undefined) {
      return used.body_hash === idempotency.bodyHash
        ? { type: 'duplicate', jobId: used.job_id }
        : { type: 'conflict' };
    }
  }
  return isOpen || state.statements.get('ended-find', id) !== undefined ? { type: 'exists' } : null;
}

/**
 * Checks the steps of tasks one after the other against what the former ones leave.
 * @returns null where a step was decided on another attempt.
 */
function planTasks(
  state: WriterState,
  steps: readonly TaskMessage[],
  found: FoundJob | undefined,
): TaskPlan | null {
  const after = new Map<string, PlannedTask | null>();
  const targets: (PlannedTask | null)[] = [];
  let othersAreGone = found === undefined;
  for (const step of steps) {
    if (step.type === 'cancel_all') {
      for (const id of after.keys()) after.set(id, null);
      othersAreGone = true;
      targets.push(null);
      continue;
    }
    let task = after.get(step.taskId);
    if (task === undefined) task = othersAreGone ? null : findTask(state, found, step.taskId);
    const target = planStep(step, task);
    if (target === null) return null;
    targets.push(target);
    after.set(step.taskId, step.type === 'end' ? null : target);
  }
  return { after, othersAreGone, targets };
}

function planStep(
  step: Exclude<TaskMessage, { type: 'cancel_all' }>,
  task: PlannedTask | null,
): PlannedTask | null {
  const fresh = { status: 'PENDING', attempt: null, worker: null };
  if (step.type === 'start')
    return task === null ? { ...fresh, n: null, deadlines: step.deadlines } : null;
  if (task === null || task.attempt !== step.attempt || task.status !== step.from) return null;
  if (step.type === 'end') return task;
  return { ...fresh, n: task.n, deadlines: afterRequeue(task.deadlines, step.deadlines) };
}

function findTask(state: WriterState, job: FoundJob | undefined, id: string): PlannedTask | null {
  if (job === undefined) return null;
  const row = state.statements.get<{
    n: number;
    status: string;
    attempt_id: string | null;
    worker: string | null;
    timers: string;
  }>('task-find', job.n, id);
  if (row === undefined) return null;
  const { n, status, attempt_id: attempt, worker, timers } = row;
  return { n, status, attempt, worker, deadlines: JSON.parse(timers) as Deadlines };
}

function limitRefusal(
  state: WriterState,
  { reservations }: ChangeMessage,
  at: number,
): ChangeAnswer | null {
  const taken = new Map<string, number>();
  for (const { key, amount, limit } of reservations) {
    state.statements.run('shares-expire', key, at);
    const { held, next } = state.statements.one<{ held: number; next: number | null }>(
      'shares-sum',
      key,
    );
    const sum = held + (taken.get(key) ?? 0) + amount;
    taken.set(key, (taken.get(key) ?? 0) + amount);
    if (sum > limit)
      return {
        type: 'limit',
        key,
        retryAfterMs: amount > limit || next === null ? null : next - at,
      };
  }
  return null;
}

function timesAfter(
  { timers, leaseUntil, hasLease }: ChangeMessage,
  found: FoundJob | undefined,
): Times {
  const kept = { text: found?.timers ?? '{}', dueAt: found?.due_at ?? null };
  const { text, dueAt } = timers === 'keep' ? kept : timers;
  const until = leaseUntil === 'keep' ? (found?.lease_until ?? null) : leaseUntil;
  return { timers: text, dueAt, leaseUntil: hasLease ? until : null };
}

/** The rule of no limbo over what the change leaves (S-6); core/limbo.ts has it in full. */
function hasCause(
  state: WriterState,
  change: ChangeMessage,
  next: Times,
  plan: TaskPlan,
  found: FoundJob | undefined,
): boolean {
  switch (change.needs) {
    case 'nothing':
      return true;
    case 'handler':
      return next.leaseUntil !== null;
    case 'wake':
      return (JSON.parse(next.timers) as Deadlines).wake !== undefined;
    case 'task': {
      const id = change.waitTask ?? '';
      const planned = plan.after.get(id);
      const task =
        planned === undefined && !plan.othersAreGone ? findTask(state, found, id) : planned;
      return task != null && taskMoves(state, task);
    }
    default:
      return false;
  }
}

function taskMoves(state: WriterState, task: PlannedTask): boolean {
  if (task.status === 'PENDING' || earliest(task.deadlines) !== null) return true;
  return task.worker !== null && state.statements.get('worker-find', task.worker) !== undefined;
}
