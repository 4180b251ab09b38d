import type { Change, Reservation, TaskChange } from '../../core/change.ts';
import { limbo } from '../../core/limbo.ts';
import { taskClass } from '../../core/requirements.ts';
import { isFinal } from '../../core/status.ts';
import type { ChangeOutcome, ChangeRequest, HeldAttempt, IdempotencyKey } from '../contract.ts';
import { afterRequeue, armed, keyLifeMs, stampedJob, startedTask } from '../rules.ts';
import {
  copyOf,
  type HeldReservation,
  type MemoryData,
  type OpenJob,
  type TaskRecord,
  write,
} from './data.ts';
import { causesOf } from './reads.ts';

/** Decides and stores one change: everything is checked before the first thing is written (S-4). */
export function applyChange(
  data: MemoryData,
  { change, idempotency }: ChangeRequest,
  at: number,
): ChangeOutcome {
  const { job, reservations } = change;
  const before = data.open.get(job.id);
  if (job.version === 0) {
    const used = idempotency && usedKey(data, job.client, idempotency, at);
    if (used) return used;
    if (before !== undefined || data.ended.has(job.id)) return { type: 'exists' };
  } else if (before?.job.version !== job.version) return { type: 'stale' };

  const plan = planTasks(data, change, before, at);
  if (plan === null) return { type: 'stale' };
  const exceeded = exceededLimit(data, reservations, at);
  if (exceeded) return exceeded;
  const after = openJobAfter(change, before, plan.tasks, at);
  if (limbo(causesOf(data, after)) !== null) return { type: 'no_cause' };

  if (job.version === 0 && idempotency) {
    data.keys.set(keyOf(job.client, idempotency.key), {
      ...idempotency,
      jobId: job.id,
      expiresAt: at + keyLifeMs,
    });
  }
  const cancelled = store(data, after, plan, reservations, at);
  write(data, after.job, change.history, at);
  return { type: 'done', job: copyOf(after.job), cancelled };
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
  if (used === undefined || (used.expiresAt <= at && !data.open.has(used.jobId))) return undefined;
  return used.bodyHash === bodyHash
    ? { type: 'duplicate', jobId: used.jobId }
    : { type: 'conflict' };
}

interface TaskPlan {
  readonly tasks: Map<string, TaskRecord>;
  readonly cancelled: TaskRecord[];
  readonly arrivals: number;
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
  let { arrivals } = data;
  for (const step of change.tasks) {
    if (step.type === 'cancel_all') {
      cancelled.push(...tasks.values());
      tasks.clear();
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
    if (step.type === 'end') tasks.delete(step.taskId);
    else tasks.set(step.taskId, requeued(record, step, at));
  }
  return { tasks, cancelled, arrivals };
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

function exceededLimit(
  data: MemoryData,
  wanted: readonly Reservation[],
  at: number,
): ChangeOutcome | undefined {
  data.reservations = data.reservations.filter(
    ({ expiresAt }) => expiresAt === null || expiresAt > at,
  );
  const taken = new Map<string, number>();
  for (const { key, amount, limit } of wanted) {
    const shares = data.reservations.filter((share) => share.key === key);
    const sum = shares.reduce((total, share) => total + share.amount, taken.get(key) ?? 0) + amount;
    taken.set(key, (taken.get(key) ?? 0) + amount);
    if (sum > limit)
      return { type: 'limit', key, retryAfterMs: amount > limit ? null : firstExpiry(shares, at) };
  }
  return undefined;
}

function firstExpiry(shares: readonly HeldReservation[], at: number): number | null {
  const ends = shares.flatMap(({ expiresAt }) => (expiresAt === null ? [] : [expiresAt]));
  return ends.length === 0 ? null : Math.min(...ends) - at;
}

function openJobAfter(
  change: Change,
  before: OpenJob | undefined,
  tasks: Map<string, TaskRecord>,
  at: number,
): OpenJob {
  const job = copyOf(stampedJob(change, at));
  const { timers, leaseForMs } = change;
  const deadlines = timers === 'keep' ? (before?.deadlines ?? {}) : armed(timers, at);
  const leaseEndsAt = leaseForMs === 'keep' ? (before?.leaseEndsAt ?? null) : at + leaseForMs;
  return { job, deadlines, tasks, leaseEndsAt: job.lease === null ? null : leaseEndsAt };
}

/** @returns the attempts that ended without having been named. */
function store(
  data: MemoryData,
  after: OpenJob,
  plan: TaskPlan,
  reservations: readonly Reservation[],
  at: number,
): HeldAttempt[] {
  const { job } = after;
  const cancelled = [...plan.cancelled];
  data.arrivals = plan.arrivals;
  if (isFinal(job.status)) {
    // An ended job has no open task, whatever the change said.
    cancelled.push(...after.tasks.values());
    data.open.delete(job.id);
    data.ended.set(job.id, job);
    data.reservations = data.reservations.filter(({ jobId }) => jobId !== job.id);
  } else {
    data.open.set(job.id, after);
    for (const { key, amount, expiresAfterMs } of reservations) {
      const expiresAt = expiresAfterMs === null ? null : at + expiresAfterMs;
      data.reservations.push({ jobId: job.id, key, amount, expiresAt });
    }
  }
  return heldAttempts(cancelled);
}

function heldAttempts(records: readonly TaskRecord[]): HeldAttempt[] {
  const inOrder = records.toSorted((a, b) => a.arrival - b.arrival);
  return inOrder.flatMap(({ task: { attempt } }) =>
    attempt === null ? [] : [{ worker: attempt.worker, attempt: attempt.id }],
  );
}
