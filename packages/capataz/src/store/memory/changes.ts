import type { Also, Change, FiredDeadline, TaskChange } from '../../core/change.ts';
import type { Job } from '../../core/job.ts';
import { limbo } from '../../core/limbo.ts';
import { taskClass } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import { isFinal } from '../../core/status.ts';
import { assert } from '../../std/assert.ts';
import type { JsonValue } from '../../std/json.ts';
import type { ChangeOutcome, ChangeRequest, HeldAttempt, IdempotencyKey } from '../contract.ts';
import {
  afterRequeue,
  armed,
  type Chains,
  deadlinesAfter,
  keyLifeMs,
  stampedJob,
  startedTask,
} from '../rules.ts';
import { copyOf, type MemoryData, type OpenJob, type TaskRecord } from './data.ts';
import { deliver, isFull, register, ring, unexpired } from './inbox.ts';
import { addEmits } from './outbox.ts';
import { causesSeen } from './reads.ts';
import { isKeyInForce } from './retention.ts';
import { exceededLimit, storeShares, waitKeyOf } from './shares.ts';

/** A change of a commit, after those that it may build on. */
export function applyChained(
  data: MemoryData,
  request: ChangeRequest,
  at: number,
  chains: Chains,
): ChangeOutcome {
  const { id, version } = request.change.job;
  if (chains.isBroken(id, version)) return { type: 'stale' };
  const outcome = applyChange(data, request, at);
  if (outcome.type !== 'done') chains.refused(id, version);
  return outcome;
}

/** Decides and stores one change: everything is checked before the first thing is written (S-4). */
export function applyChange(
  data: MemoryData,
  request: ChangeRequest,
  at: number,
  isChild = false,
): ChangeOutcome {
  const { change, idempotency } = request;
  const { job, also } = change;
  const before = data.open.get(job.id);
  const refusal = refusalOf(data, request, before, at);
  if (refusal !== null) return refusal;
  const plan = planTasks(data, change, before, at);
  if (plan === null) return { type: 'stale' };
  // A child's wants were checked with its parent's.
  const exceeded = isChild ? undefined : exceededLimit(data, change, at);
  if (exceeded) return exceeded;
  const after = openJobAfter(data, change, before, plan, at);
  if (isInLimbo(data, after, also)) return { type: 'no_cause' };
  if (job.version === 0 && idempotency) {
    data.keys.set(keyOf(job.client, idempotency.key), {
      ...idempotency,
      jobId: job.id,
      expiresAt: at + keyLifeMs,
    });
  }
  const cancelled = store(data, after, plan);
  storeShares(data, change, { before, after }, at);
  data.write(after.job, change.history, at);
  if (also !== null) storeAlso(data, after, also, at);
  return { type: 'done', job: data.given(after.job), cancelled };
}

function refusalOf(
  data: MemoryData,
  { change, idempotency }: ChangeRequest,
  before: OpenJob | undefined,
  at: number,
): ChangeOutcome | null {
  const { job, scope, also } = change;
  if (job.version === 0) {
    const used = idempotency && usedKey(data, job.client, idempotency, at);
    if (used) return used;
    if (before !== undefined || data.ended.has(job.id)) return { type: 'exists' };
  } else if (before === undefined) return { type: 'stale' };
  const isVersioned = scope === 'job' || (also !== null && also.posts.length > 0);
  if (isVersioned && before !== undefined && before.job.version !== job.version)
    return { type: 'stale' };
  if (!isStillSet(before, also?.fired ?? null)) return { type: 'not_due' };
  if (also?.signalId != null && before?.seen.has(also.signalId)) return { type: 'seen' };
  if (isFull(before, also?.posts ?? [], at)) return { type: 'inbox_full' };
  return null;
}

function isInLimbo(data: MemoryData, after: OpenJob, also: Also | null): boolean {
  if (isFinal(after.job.status)) return false;
  const causes = causesSeen(data, after);
  const startsChild = also !== null && also.children.length > 0;
  return limbo({ ...causes, childIsOpen: causes.childIsOpen || startsChild }) !== null;
}

/** Another deadline of the same name is another deadline. */
function isStillSet(before: OpenJob | undefined, fired: FiredDeadline | null): boolean {
  if (fired === null) return true;
  const { taskId, name, at } = fired;
  const deadlines = taskId === null ? before?.deadlines : before?.tasks.get(taskId)?.deadlines;
  return deadlines?.[name] === at;
}

/** What goes beyond the job itself. */
function storeAlso(data: MemoryData, after: OpenJob, also: Also, at: number): void {
  for (const child of also.children) {
    const { type } = applyChange(data, { change: child }, at, true);
    assert(type === 'done', `a child was answered with ${type}`);
  }
  addEmits(data, after.job, also.emits, at);
  if (also.signalId !== null) after.seen.add(also.signalId);
  if (isFinal(after.job.status) && after.seen.size > 0)
    data.seenByEnded.set(after.job.id, after.seen);
  after.inbox = after.inbox.filter(({ item }) => !also.takes.includes(item.id));
  for (const post of also.posts) deliver(data, post, at);
  // An ended job has no address: it would only swallow what was kept for the next one.
  for (const key of isFinal(after.job.status) ? [] : also.keys) register(data, after, key, at);
  const isEarlyThere = unexpired(after, at).some(({ item }) => item.kind === 'signal');
  if (also.looks && isEarlyThere) ring(after, at);
}

function keyOf(client: string, key: string): string {
  return JSON.stringify([client, key]);
}

function usedKey(
  data: MemoryData,
  client: string,
  { key, bodyHash }: IdempotencyKey,
  at: number,
): ChangeOutcome | undefined {
  const used = data.keys.get(keyOf(client, key));
  if (used === undefined || !isKeyInForce(data, used, at)) return undefined;
  return used.bodyHash === bodyHash
    ? { type: 'duplicate', jobId: used.jobId }
    : { type: 'conflict' };
}

interface TaskPlan {
  readonly tasks: Map<string, TaskRecord>;
  readonly cancelled: TaskRecord[];
  readonly arrivals: number;
  /** Branches that have ended with this change. */
  readonly collected: InboxItem[];
  /** What was collected before counts no more. */
  readonly forgets: boolean;
}

/** The job's open tasks after the change, or null where one was decided on another attempt. */
function planTasks(
  data: MemoryData,
  change: Change,
  before: OpenJob | undefined,
  at: number,
): TaskPlan | null {
  const tasks = new Map(before?.tasks);
  const cancelled: TaskRecord[] = [];
  const collected: InboxItem[] = [];
  let forgets = false;
  let { arrivals } = data;
  for (const step of change.tasks) {
    if (step.type === 'cancel_all') {
      cancelled.push(...tasks.values());
      tasks.clear();
      collected.length = 0;
      forgets = true;
      continue;
    }
    const record = tasks.get(step.taskId);
    if (step.type === 'start') {
      if (record !== undefined) return null;
      arrivals += 1;
      tasks.set(step.taskId, started(change.job.id, step, arrivals, at));
      continue;
    }
    if (
      record === undefined ||
      (record.task.attempt?.id ?? null) !== step.attempt ||
      record.task.status !== step.from
    )
      return null;
    if (step.type === 'requeue') tasks.set(step.taskId, requeued(record, step, at));
    else tasks.delete(step.taskId);
    if (step.type === 'collect') collected.push(branchItem(step));
  }
  return { tasks, cancelled, arrivals, collected, forgets };
}

function started(
  jobId: string,
  step: TaskChange & { type: 'start' },
  arrival: number,
  at: number,
): TaskRecord {
  const deadlines = armed(step.timers, at);
  const task = copyOf({ ...startedTask(jobId, step), resultAt: deadlines.result ?? null });
  return { task, classKey: taskClass(task.spec).key, deadlines, arrival, handOut: 0 };
}

function requeued(
  record: TaskRecord,
  step: TaskChange & { type: 'requeue' },
  at: number,
): TaskRecord {
  const deadlines = afterRequeue(record.deadlines, armed(step.timers, at));
  const { failures, lostRuns } = step;
  const task = {
    ...record.task,
    status: 'PENDING',
    attempt: null,
    failures,
    lostRuns,
    resultAt: deadlines.result ?? null,
  } as const;
  return { ...record, task, deadlines };
}

function branchItem({ taskId, result }: TaskChange & { type: 'collect' }): InboxItem {
  return {
    id: taskId,
    kind: 'branch',
    name: result.status,
    body: { ...result, error: result.error as JsonValue },
  };
}

function openJobAfter(
  data: MemoryData,
  change: Change,
  before: OpenJob | undefined,
  { tasks, collected, forgets }: TaskPlan,
  at: number,
): OpenJob {
  const { leaseForMs, scope, entered } = change;
  const isAside = scope === 'tasks' && before !== undefined;
  const job = isAside ? before.job : copyOf(stampedJob(change, at));
  const deadlines = deadlinesAfter(change, before?.deadlines ?? {}, at);
  const leaseEndsAt = leaseForMs === 'keep' ? (before?.leaseEndsAt ?? null) : at + leaseForMs;
  const kept = (before?.inbox ?? []).filter(({ item }) => !(forgets && item.kind === 'branch'));
  const after: OpenJob = {
    job,
    deadlines,
    tasks,
    leaseEndsAt: job.lease === null ? null : leaseEndsAt,
    place: placeAfter(data, job, before),
    inbox: [...kept, ...collected.map((item) => ({ item: copyOf(item), expiresAt: null }))],
    seen: before?.seen ?? new Set(),
    memos: entered ? new Map() : (before?.memos ?? new Map()),
  };
  const isJoined =
    collected.length > 0 && tasks.size === 0 && job.status === 'waiting_for_parallel';
  if (isJoined) ring(after, at);
  return after;
}

/** Who goes on waiting keeps its place, also in the line for another key. */
function placeAfter(data: MemoryData, job: Job, before: OpenJob | undefined): number | null {
  const key = waitKeyOf(job);
  if (key === null) return null;
  if (before?.place != null && waitKeyOf(before.job) !== null) return before.place;
  data.queued += 1;
  return data.queued;
}

/** @returns the attempts that ended without having been named. */
function store(data: MemoryData, after: OpenJob, plan: TaskPlan): HeldAttempt[] {
  const { job } = after;
  const cancelled = [...plan.cancelled];
  data.arrivals = plan.arrivals;
  if (isFinal(job.status)) {
    // An ended job has no open task, whatever the change said.
    cancelled.push(...after.tasks.values());
    data.open.delete(job.id);
    data.ended.set(job.id, job);
    if (after.seen.size > 0) data.seenByEnded.set(job.id, after.seen);
    for (const ids of data.addresses.values()) ids.delete(job.id);
  } else {
    data.open.set(job.id, after);
  }
  return heldAttempts(cancelled);
}

function heldAttempts(records: readonly TaskRecord[]): HeldAttempt[] {
  const inOrder = records.toSorted((a, b) => a.arrival - b.arrival);
  return inOrder.flatMap(({ task: { attempt } }) =>
    attempt === null ? [] : [{ worker: attempt.worker, attempt: attempt.id }],
  );
}
