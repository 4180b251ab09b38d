import { assert } from '../std/assert.ts';
import { type WorkerStatus, workerMayBecome, workerStatuses } from './status.ts';

/**
 * The worker of the lifecycle seed: its seven statuses, the one validator of their 14 transitions,
 * and the operations that take them. Pure; an operation that is refused changes nothing.
 */
export interface WorkerAggregate {
  readonly id: string;
  readonly status: WorkerStatus;
  /** It ends with its first job. The seed's default; workers that register to pull are not so (S-38). */
  readonly ephemeral: boolean;
  /** Jobs that it runs at once. READY while one is free, BUSY when none is; 1 is the seed's table. */
  readonly slots: number;
  readonly currentJobs: readonly string[];
  readonly jobsExecuted: number;
  /** Instants in ms since 1970 UTC. */
  readonly updatedAt: number;
  readonly lastHeartbeatAt: number | null;
  readonly jobCompletedAt: number | null;
}

export interface WorkerChange {
  readonly type: 'changed';
  readonly worker: WorkerAggregate;
  readonly previous: WorkerStatus;
  /** What the book records, in order: each is a legal transition. None where only a slot changed. */
  readonly steps: readonly WorkerStatus[];
  /** Jobs that it held and holds no longer without having ended them: they go back. */
  readonly released: readonly string[];
}

/** The seed's error, in the seed's spelling: also the details of an answer. */
export interface InvalidWorkerStateTransition {
  readonly type: 'InvalidWorkerStateTransition';
  readonly worker_id: string;
  readonly from_state: WorkerStatus;
  readonly to_state: WorkerStatus;
  /** What was to happen, and where the table alone does not say it, why it can't. */
  readonly reason: string;
}

export type WorkerOutcome = WorkerChange | InvalidWorkerStateTransition;

export type WorkerCategory =
  | 'provisioning'
  | 'available'
  | 'working'
  | 'shutting_down'
  | 'terminated';

const categories: Readonly<Record<WorkerStatus, WorkerCategory>> = {
  CREATING: 'provisioning',
  CONNECTING: 'provisioning',
  READY: 'available',
  BUSY: 'working',
  DRAINING: 'shutting_down',
  TERMINATING: 'shutting_down',
  TERMINATED: 'terminated',
};

export function workerCategory(status: WorkerStatus): WorkerCategory {
  return categories[status];
}

export function isTerminalWorker(status: WorkerStatus): boolean {
  return status === 'TERMINATED';
}

export function isOperationalWorker(status: WorkerStatus): boolean {
  return status === 'READY' || status === 'BUSY';
}

/** 0 to 6, in the order of the seed. */
export function workerStatusNumber(status: WorkerStatus): number {
  return workerStatuses.indexOf(status);
}

export function workerStatusOf(number: number): WorkerStatus | undefined {
  return workerStatuses[number];
}

/** The one validator. @returns null where the transition is among the 14. */
export function checkWorkerTransition(
  { id, status }: Pick<WorkerAggregate, 'id' | 'status'>,
  to: WorkerStatus,
  reason: string,
): InvalidWorkerStateTransition | null {
  return workerMayBecome(status, to) ? null : refused({ id, status }, to, reason);
}

export interface NewWorker {
  readonly ephemeral?: boolean;
  readonly slots?: number;
  /** Of one that was known before this process: the status in which it was stored. */
  readonly status?: WorkerStatus;
}

export function newWorker(
  id: string,
  now: number,
  { ephemeral = true, slots = 1, status = 'CREATING' }: NewWorker = {},
): WorkerAggregate {
  assert(Number.isInteger(slots) && slots >= 1, 'a worker has at least one slot');
  assert(!ephemeral || slots === 1, 'a worker that ends with its first job has one slot');
  return {
    id,
    status,
    ephemeral,
    slots,
    currentJobs: [],
    jobsExecuted: 0,
    updatedAt: now,
    lastHeartbeatAt: null,
    jobCompletedAt: null,
  };
}

export function markConnecting(worker: WorkerAggregate, now: number): WorkerOutcome {
  return walk(worker, ['CONNECTING'], 'agent starts its gRPC connection', { updatedAt: now });
}

/**
 * It registers, for the first time or again. Who registers has its slots free: what it held before
 * is released, or READY would not mean a free slot any more.
 */
export function markReady(worker: WorkerAggregate, now: number): WorkerOutcome {
  const fields = { updatedAt: now, lastHeartbeatAt: now, currentJobs: [] };
  return walk(worker, ['READY'], 'agent registered', fields, worker.currentJobs);
}

export function assignJob(worker: WorkerAggregate, now: number, job: string): WorkerOutcome {
  const reason = 'job assigned';
  // Also where a slot stays free: whoever could not become BUSY takes no job.
  const refusal = checkWorkerTransition(worker, 'BUSY', reason);
  if (refusal !== null) return refusal;
  if (worker.currentJobs.includes(job))
    return refused(worker, 'BUSY', `${reason}: it holds this job already`);
  const currentJobs = [...worker.currentJobs, job];
  const steps: WorkerStatus[] = currentJobs.length < worker.slots ? [] : ['BUSY'];
  return walk(worker, steps, reason, { updatedAt: now, currentJobs });
}

/** `job`: default the one that it has held longest. */
export function completeJob(
  worker: WorkerAggregate,
  now: number,
  job: string | undefined = worker.currentJobs[0],
): WorkerOutcome {
  const reason = worker.ephemeral ? 'job done, ephemeral worker ends' : 'job done';
  const rest = worker.currentJobs.filter((current) => current !== job);
  const to = statusAfterJob(worker, rest.length);
  const holdsIt = rest.length < worker.currentJobs.length;
  const staysSo = holdsIt && to === worker.status && !isTerminalWorker(to);
  const refusal = staysSo ? null : checkWorkerTransition(worker, to, reason);
  if (refusal !== null) return refusal;
  // The table alone would let a worker end a job while it is still being created.
  if (!holdsIt) return refused(worker, to, `${reason}: it holds no such job`);
  return walk(worker, staysSo ? [] : [to], reason, {
    updatedAt: now,
    currentJobs: rest,
    jobsExecuted: worker.jobsExecuted + 1,
    jobCompletedAt: now,
  });
}

function statusAfterJob({ ephemeral, status }: WorkerAggregate, jobsLeft: number): WorkerStatus {
  if (ephemeral) return 'TERMINATED';
  if (status !== 'DRAINING') return 'READY';
  return jobsLeft > 0 ? 'DRAINING' : 'TERMINATING';
}

/**
 * It holds these jobs now: what was given and what ended or came back since the last time, at once,
 * so that no status shows that lasted no time. It leads to where assigning and ending them one by
 * one leads. A long-lived worker may hold more than it has slots for: the rest waits there.
 */
export function holdJobs(
  worker: WorkerAggregate,
  now: number,
  currentJobs: readonly string[],
): WorkerOutcome {
  const reason = 'jobs given or back';
  if (workerCategory(worker.status) === 'provisioning' || isTerminalWorker(worker.status))
    return refused(worker, 'BUSY', `${reason}: it can hold none`);
  const to = statusHolding(worker, currentJobs.length);
  const steps = to === worker.status ? [] : [to];
  return walk(worker, steps, reason, { updatedAt: now, currentJobs });
}

/** The status that a worker has once it holds so many jobs. */
export function statusHolding(
  { status, slots, currentJobs }: Pick<WorkerAggregate, 'status' | 'slots' | 'currentJobs'>,
  load: number,
): WorkerStatus {
  if (status === 'DRAINING')
    return load === 0 && currentJobs.length > 0 ? 'TERMINATING' : 'DRAINING';
  if (!isOperationalWorker(status)) return status;
  return load < slots ? 'READY' : 'BUSY';
}

/** A graceful stop: it takes no further jobs and ends those that it has. */
export function drain(worker: WorkerAggregate, now: number): WorkerOutcome {
  return walk(worker, ['DRAINING'], 'graceful stop', { updatedAt: now });
}

/** Back to work with what it still holds: with no free slot it is BUSY again, in two steps. */
export function cancelDrain(worker: WorkerAggregate, now: number): WorkerOutcome {
  const reason = 'drain cancelled';
  if (worker.status !== 'DRAINING') return refused(worker, 'READY', `${reason}: it does not drain`);
  const isFull = worker.currentJobs.length >= worker.slots;
  return walk(worker, isFull ? ['READY', 'BUSY'] : ['READY'], reason, { updatedAt: now });
}

/** It says good-bye and holds nothing: it ends by itself, each step recorded. */
export function signOff(worker: WorkerAggregate, now: number): WorkerOutcome {
  const reason = 'worker signed off';
  if (worker.currentJobs.length > 0)
    return refused(worker, 'TERMINATED', `${reason}: it still holds jobs`);
  const steps: WorkerStatus[] =
    worker.status === 'TERMINATING' ? ['TERMINATED'] : ['TERMINATING', 'TERMINATED'];
  return walk(worker, steps, reason, { updatedAt: now });
}

/** A direct stop, of one step; a BUSY worker drains first, or is killed. */
export function terminate(worker: WorkerAggregate, now: number): WorkerOutcome {
  return walk(worker, ['TERMINATING'], 'direct stop', { updatedAt: now });
}

export function markTerminated(worker: WorkerAggregate, now: number): WorkerOutcome {
  return walk(worker, ['TERMINATED'], 'worker ended', { updatedAt: now });
}

/** A stop that waits for nothing: each step of it is legal and recorded. */
export function forceKill(worker: WorkerAggregate, now: number): WorkerOutcome {
  return walk(worker, killPath(worker.status), 'killed', { updatedAt: now });
}

function killPath(status: WorkerStatus): readonly WorkerStatus[] {
  if (status === 'CREATING' || status === 'CONNECTING') return ['TERMINATED'];
  return status === 'BUSY' ? ['DRAINING', 'TERMINATING'] : ['TERMINATING'];
}

/** It crashed or fell silent. READY has no direct way out: two recorded steps. */
export function markLost(worker: WorkerAggregate, now: number): WorkerOutcome {
  const steps: WorkerStatus[] =
    worker.status === 'READY' ? ['TERMINATING', 'TERMINATED'] : ['TERMINATED'];
  return walk(worker, steps, 'worker lost', { updatedAt: now });
}

/** Takes the steps one by one; the first that is illegal refuses them all. */
function walk(
  worker: WorkerAggregate,
  steps: readonly WorkerStatus[],
  reason: string,
  fields: Partial<WorkerAggregate>,
  released: readonly string[] = [],
): WorkerOutcome {
  let { status } = worker;
  for (const to of steps) {
    const refusal = checkWorkerTransition({ id: worker.id, status }, to, reason);
    if (refusal !== null) return refusal;
    status = to;
  }
  const next = { ...worker, ...fields, status };
  const previous = worker.status;
  if (!isTerminalWorker(status))
    return { type: 'changed', worker: next, previous, steps, released };
  const ended = { ...next, currentJobs: [] };
  return { type: 'changed', worker: ended, previous, steps, released: next.currentJobs };
}

function refused(
  { id, status }: Pick<WorkerAggregate, 'id' | 'status'>,
  to: WorkerStatus,
  reason: string,
): InvalidWorkerStateTransition {
  return {
    type: 'InvalidWorkerStateTransition',
    worker_id: id,
    from_state: status,
    to_state: to,
    reason,
  };
}
