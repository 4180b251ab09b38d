import { assert } from '../../std/assert.ts';
import { earliest, isQueued, keyLifeMs } from '../rules.ts';
import { beside, besideDeletes } from './beside.ts';
import type { FoundJob, PlannedTask, TaskPlan, Times } from './change-plan.ts';
import { mark } from './inbox.ts';
import type { ChangeMessage, JobMessage, TaskMessage } from './messages.ts';
import { textAt } from './texts.ts';
import { openBook, type WriterState } from './writer-state.ts';

/** What a change that passed every check writes. Nothing here may refuse. */

export type Cancelled = { worker: string; attempt: string }[];

export interface CheckedChange {
  readonly change: ChangeMessage;
  /** What the references in it mean. */
  readonly texts: readonly string[];
  readonly found: FoundJob | undefined;
  readonly next: Times;
  readonly plan: TaskPlan;
  readonly held: number;
}

/** @returns the job's number, and the attempts that ended without having been named. */
export function writeChange(
  state: WriterState,
  checked: CheckedChange,
  at: number,
): { n: number; cancelled: Cancelled } {
  const { change, texts, found } = checked;
  const n = found?.n ?? createJob(state, change, texts, at);
  state.write(n, openBook(change.book, texts), at);
  const { ends, job } = change;
  if (job === null) return { n, cancelled: writeAside(state, n, checked) };
  const cancelled =
    ends === null ? keepJob(state, n, checked, job) : endJob(state, n, checked, job);
  return { n, cancelled };
}

/** @returns the new job's number. */
function createJob(
  state: WriterState,
  { id, client, unchanging, idempotency }: ChangeMessage,
  texts: readonly string[],
  at: number,
): number {
  assert(unchanging !== null, 'a new job came without its input');
  const input = textAt(texts, unchanging.input);
  const fixed = textAt(texts, unchanging.fixed);
  if (idempotency !== null) {
    const { key, bodyHash } = idempotency;
    state.statements.run('key-save', client, key, bodyHash, id, at + keyLifeMs);
  }
  const { correlation } = unchanging;
  const { rowid } = state.statements.run('input-insert', id, client, correlation, input, fixed);
  for (const { name, value } of unchanging.attributes) {
    state.statements.run('attribute-insert', name, textAt(texts, value), id);
  }
  state.begin(rowid);
  return rowid;
}

/** An ended job has no open task, whatever the change said, and no other table knows it. */
function endJob(
  state: WriterState,
  n: number,
  { change, texts, found, plan }: CheckedChange,
  job: JobMessage,
): Cancelled {
  const { ends, timedOut } = change;
  const cancelled = found === undefined ? [] : endTasks(state, n, change.tasks, plan);
  if (found !== undefined) state.statements.run('job-delete', n);
  if (found !== undefined && found.beside !== 0) {
    for (const [bit, statement] of besideDeletes) {
      if ((found.beside & bit) !== 0) state.statements.run(statement, n);
    }
  }
  state.statements.run('ended-insert', n, ...rowOf(job, texts));
  state.release(n);
  state.count(`ended:${ends}`);
  if (timedOut) state.count('timed_out');
  return cancelled;
}

/** Mostly the change has named the only one that there is, which is cheaper to delete by number. */
function endTasks(
  state: WriterState,
  n: number,
  steps: readonly TaskMessage[],
  { targets }: TaskPlan,
): Cancelled {
  const named = new Set<string>();
  for (const [index, step] of steps.entries()) {
    if (!('attempt' in step)) continue;
    named.add(step.taskId);
    const task = targets[index]?.n ?? null;
    if (task !== null) state.statements.run('task-delete', task);
  }
  return state.statements.get('tasks-any', n) === undefined ? [] : deleteTasks(state, n, named);
}

interface DeletedTask {
  readonly n: number;
  readonly id: string;
  readonly attempt_id: string | null;
  readonly worker: string | null;
}

/** @returns the attempts among them, but for those that the change itself ended. */
function deleteTasks(state: WriterState, n: number, named: ReadonlySet<string>): Cancelled {
  const rows = state.statements.all<DeletedTask>('tasks-delete', n);
  if (rows.length > 1) rows.sort((a, b) => a.n - b.n);
  const cancelled: Cancelled = [];
  for (const { id, attempt_id: attempt, worker } of rows) {
    if (attempt !== null && worker !== null && !named.has(id)) cancelled.push({ worker, attempt });
  }
  return cancelled;
}

function keepJob(
  state: WriterState,
  n: number,
  checked: CheckedChange,
  job: JobMessage,
): Cancelled {
  const { change, texts, found, next } = checked;
  const { held } = change;
  const row = rowOf(job, texts);
  const bits = besideAfter(change, found);
  const statement = found === undefined ? 'job-insert' : 'job-update';
  state.statements.run(statement, n, next.leaseUntil, next.timers, next.dueAt, bits, ...row);
  const cancelled = writeTasks(state, n, checked, bits);
  const isHoldTurned = found !== undefined && found.held !== held;
  if (isHoldTurned) state.statements.run('tasks-hold', n, held);
  writeBeside(state, n, change, found?.beside ?? 0);
  return cancelled;
}

/** Tasks, and what is besides; of the job's own row only the alarm of its inbox, if it rings. */
function writeAside(state: WriterState, n: number, checked: CheckedChange): Cancelled {
  const { change, found, next } = checked;
  assert(found !== undefined, 'a job that stays as it is was not found');
  if (next.timers !== found.timers) state.statements.run('job-retime', n, next.timers, next.dueAt);
  mark(state, found, change.beside);
  return writeTasks(state, n, checked, found.beside | change.beside);
}

/** The bits of a job that goes on. */
export function besideAfter(
  { timers, entered, job, beside: added }: ChangeMessage,
  found: FoundJob | undefined,
): number {
  let bits = found?.beside ?? 0;
  if (bits === 0 || job === null) return bits | added;
  bits &= ~beside.waiters;
  if (timers !== 'keep') bits &= ~beside.waitShares;
  if (entered) bits &= ~beside.memos;
  return bits | added;
}

function writeBeside(
  state: WriterState,
  n: number,
  { entered, waitKey }: ChangeMessage,
  had: number,
): void {
  if (entered && (had & beside.memos) !== 0) state.statements.run('memos-delete', n);
  if (waitKey === null) return;
  // Who goes on waiting keeps its place, also in the line for another key.
  if (state.statements.get('waiter-place', n) !== undefined) return;
  state.statements.run('waiter-insert', waitKey, n);
  state.hasWaiters = true;
}

function writeTasks(
  state: WriterState,
  n: number,
  { change, texts, plan, held }: CheckedChange,
  bits: number,
): Cancelled {
  const cancelled: Cancelled = [];
  for (const [index, step] of change.tasks.entries()) {
    if (step.type === 'cancel_all') {
      cancelled.push(...deleteTasks(state, n, new Set()));
      if ((bits & beside.inbox) !== 0) state.statements.run('inbox-forget-branches', n);
    } else writeTask(state, n, { step, texts, target: plan.targets[index] ?? null }, held === 1);
  }
  return cancelled;
}

function rowOf({ row, rest, data }: JobMessage, texts: readonly string[]) {
  return [...row, textAt(texts, rest), textAt(texts, data)];
}

interface PlannedStep {
  readonly step: Exclude<TaskMessage, { type: 'cancel_all' }>;
  readonly texts: readonly string[];
  readonly target: PlannedTask | null;
}

function writeTask(
  state: WriterState,
  job: number,
  { step, texts, target }: PlannedStep,
  held: boolean,
): void {
  const { statements } = state;
  assert(target !== null, 'a step of a task was not planned');
  const { deadlines } = target;
  const timers = JSON.stringify(deadlines);
  const dueAt = earliest(deadlines);
  const queued = Number(isQueued('PENDING', deadlines, held));
  const delayed = Number(deadlines.ready !== undefined);
  if (step.type === 'start') {
    const { taskId, rank, bound, executionLimitMs } = step;
    const spec = textAt(texts, step.spec);
    const ofClass = state.classId(step.classKey, step.classText);
    const places = [job, taskId, ofClass, rank, queued, delayed, bound] as const;
    statements.run('task-insert', ...places, executionLimitMs, timers, dueAt, spec);
    return;
  }
  const n = target.n ?? statements.one<{ n: number }>('task-find', job, step.taskId).n;
  if (step.type !== 'requeue') {
    statements.run('task-delete', n);
    if (step.type === 'collect')
      statements.run('inbox-collect', job, step.taskId, step.name, textAt(texts, step.body));
    return;
  }
  const { failures, lostRuns } = step;
  statements.run('task-requeue', n, queued, delayed, failures, lostRuns, timers, dueAt);
}
