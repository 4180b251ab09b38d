import type { FiredDeadline } from '../../core/change.ts';
import type { Wait } from '../../core/job.ts';
import type { JobStatus } from '../../core/status.ts';
import { assert } from '../../std/assert.ts';
import { afterRequeue, type Deadlines, maxEarly } from '../rules.ts';
import { beside } from './beside.ts';
import { hasCause, isAnyOpen } from './causes.ts';
import {
  type FoundJob,
  findTask,
  type PlannedTask,
  type Standing,
  type TaskPlan,
} from './change-plan.ts';
import { besideAfter, type CheckedChange, writeChange } from './change-writes.ts';
import { signalsIn, writeInboxes } from './inbox.ts';
import type { AlsoMessage, ChangeAnswer, ChangeMessage, TaskMessage } from './messages.ts';
import { needOf } from './need.ts';
import { writeEmits } from './outbox.ts';
import { type JobRow, jobOf } from './rows.ts';
import { limitRefusal, storeShares } from './shares.ts';
import type { TextBag } from './texts.ts';
import { timesAfter } from './times.ts';
import type { WriterState } from './writer-state.ts';

/** A change, and what the references in it mean. */
export interface AskedChange {
  readonly change: ChangeMessage;
  readonly texts: readonly string[];
}

/** The stored job where the change leaves it as it is, so that it says itself how it stands. */
interface AsideJob extends FoundJob {
  readonly status: JobStatus;
  readonly runnable: number;
  readonly wait: string;
}

/** Decides one change and stores it: everything is checked before the first thing is written. */
export function applyChange(
  state: WriterState,
  { change, texts }: AskedChange,
  at: number,
  answers: TextBag,
  isChild = false,
): ChangeAnswer {
  const aside =
    change.job === null ? state.statements.get<AsideJob>('job-find-aside', change.id) : undefined;
  const found = aside ?? state.statements.get<FoundJob>('job-find', change.id);
  const refusal = refusalOf(state, change, found, at);
  if (refusal !== null) return refusal;
  const plan = planTasks(state, change.tasks, found);
  if (plan === null) return { type: 'stale' };
  // A child's wants were checked with its parent's.
  const limit = isChild ? null : limitRefusal(state, change, found, at);
  if (limit !== null) return limit;
  const standing = aside === undefined ? change : standingOf(aside);
  const isJoined = plan.collects && standing.isFannedOut && !isAnyOpen(state, plan, found);
  const next = timesAfter(change, found, standing.hasLease, isJoined ? at : null);
  if (!hasCause(state, standing.need, change, { found, plan, next })) return { type: 'no_cause' };

  const checked = { change, texts, found, next, plan, held: standing.held };
  const { n, cancelled } = writeChange(state, checked, at);
  storeShares(state, n, change, found?.beside ?? 0, at);
  const { also } = change;
  if (also !== null) writeAlso(state, n, { ...checked, also }, at, answers);
  if (aside === undefined || aside.version === change.decidedOn) return { type: 'done', cancelled };
  return { type: 'done', cancelled, job: storedJob(state, change.id, answers) };
}

function standingOf({ held, lease_token, status, runnable, wait }: AsideJob): Standing {
  const stands = { status, held: held === 1, wait: JSON.parse(wait) as Wait | null };
  return {
    held,
    hasLease: lease_token !== null,
    need: runnable === 1 ? 'nothing' : needOf(stands),
    isFannedOut: status === 'waiting_for_parallel',
  };
}

function storedJob({ statements }: WriterState, id: string, answers: TextBag): number {
  return answers.add(JSON.stringify(jobOf(statements.one<JobRow>('read-job', id))));
}

function refusalOf(
  state: WriterState,
  change: ChangeMessage,
  found: FoundJob | undefined,
  at: number,
): ChangeAnswer | null {
  const { decidedOn, also } = change;
  if (decidedOn === 0) {
    const refusal = creationRefusal(state, change, found !== undefined, at);
    if (refusal !== null || found === undefined) return refusal;
  }
  const isVersioned = change.job !== null || (also !== null && also.posts.length > 0);
  if (found === undefined || (isVersioned && found.version !== decidedOn)) return { type: 'stale' };
  if (also === null) return null;
  if (!isStillSet(state, also.fired, found)) return { type: 'not_due' };
  return signalRefusal(state, change, also, found, at);
}

/** Another deadline of the same name is another deadline. */
function isStillSet(state: WriterState, fired: FiredDeadline | null, found: FoundJob): boolean {
  if (fired === null) return true;
  const { taskId, name, at } = fired;
  if (taskId !== null) return findTask(state, found, taskId)?.deadlines[name] === at;
  return (JSON.parse(found.timers) as Deadlines)[name] === at;
}

function signalRefusal(
  state: WriterState,
  { id }: ChangeMessage,
  { signalId, posts }: AlsoMessage,
  { n, beside: known }: FoundJob,
  at: number,
): ChangeAnswer | null {
  const isSeen =
    signalId !== null &&
    (known & beside.seen) !== 0 &&
    state.statements.get('seen-find', n, signalId) !== undefined;
  if (isSeen) return { type: 'seen' };
  const isEarly = posts.some(({ jobId, item }) => jobId === id && item.kind === 'signal');
  const isFull = isEarly && (known & beside.inbox) !== 0 && signalsIn(state, n, at) >= maxEarly;
  return isFull ? { type: 'inbox_full' } : null;
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
  let collects = false;
  for (const step of steps) {
    if (step.type === 'cancel_all') {
      for (const id of after.keys()) after.set(id, null);
      othersAreGone = true;
      collects = false;
      targets.push(null);
      continue;
    }
    let task = after.get(step.taskId);
    if (task === undefined) task = othersAreGone ? null : findTask(state, found, step.taskId);
    const target = planStep(step, task);
    if (target === null) return null;
    if (step.type === 'collect') collects = true;
    targets.push(target);
    after.set(step.taskId, isEnd(step) ? null : target);
  }
  return { collects, after, othersAreGone, targets };
}

function isEnd({ type }: TaskMessage): boolean {
  return type === 'end' || type === 'collect';
}

function planStep(
  step: Exclude<TaskMessage, { type: 'cancel_all' }>,
  task: PlannedTask | null,
): PlannedTask | null {
  const fresh = { status: 'PENDING', attempt: null, worker: null };
  if (step.type === 'start')
    return task === null ? { ...fresh, n: null, deadlines: step.deadlines } : null;
  if (task === null || task.attempt !== step.attempt || task.status !== step.from) return null;
  if (step.type !== 'requeue') return task;
  return { ...fresh, n: task.n, deadlines: afterRequeue(task.deadlines, step.deadlines) };
}

/** What goes beyond the job itself, once it is stored. */
function writeAlso(
  state: WriterState,
  n: number,
  { change, texts, found, also }: CheckedChange & { readonly also: AlsoMessage },
  at: number,
  answers: TextBag,
): void {
  for (const child of also.children) {
    const { type } = applyChange(state, { change: child, texts }, at, answers, true);
    assert(type === 'done', `a child was answered with ${type}`);
  }
  const { client, ends } = change;
  writeEmits(state, change.id, also.emits, texts, at);
  const owner = ends === null ? { n, client, beside: besideAfter(change, found) } : null;
  writeInboxes(state, n, owner, also, texts, at);
}
