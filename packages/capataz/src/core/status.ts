/** The engine's life cycle of a job: a closed set. A *state* is the user's word and another thing. */
export const jobStatuses = [
  'pending',
  'running',
  'waiting_for_worker',
  'waiting_for_human',
  'waiting_for_parallel',
  'waiting_for_child',
  'waiting_for_event',
  'waiting_for_timer',
  'finished',
  'failed',
  'cancelled',
  'quarantined',
] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Statuses that never change again. `quarantined` is parked, not final. */
export const finalStatuses = ['finished', 'failed', 'cancelled'] as const;
export type FinalStatus = (typeof finalStatuses)[number];

export function isFinal(status: JobStatus): status is FinalStatus {
  return (finalStatuses as readonly JobStatus[]).includes(status);
}

/** The eight of the lifecycle seed, in the order of its integers 0 to 7. */
export const taskStatuses = [
  'PENDING',
  'ASSIGNED',
  'SCHEDULED',
  'RUNNING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'TIMEOUT',
] as const;
export type TaskStatus = (typeof taskStatuses)[number];
export type TaskEnd = Extract<TaskStatus, 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'TIMEOUT'>;

/**
 * The public matrix: 17 of 64 pairs. A retry (FAILED or TIMEOUT → PENDING) is not in it; only the
 * retry rule may take that step, in the commit that writes the failure.
 */
const taskTransitions: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  PENDING: ['ASSIGNED', 'SCHEDULED', 'FAILED', 'CANCELLED', 'TIMEOUT'],
  ASSIGNED: ['RUNNING', 'FAILED', 'TIMEOUT', 'CANCELLED'],
  SCHEDULED: ['RUNNING', 'FAILED', 'TIMEOUT', 'CANCELLED'],
  RUNNING: ['SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMEOUT'],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
  TIMEOUT: [],
};

export function taskMayBecome(from: TaskStatus, to: TaskStatus): boolean {
  return taskTransitions[from].includes(to);
}

/** The seven of the lifecycle seed, in the order of its integers 0 to 6. */
export const workerStatuses = [
  'CREATING',
  'CONNECTING',
  'READY',
  'BUSY',
  'DRAINING',
  'TERMINATING',
  'TERMINATED',
] as const;
export type WorkerStatus = (typeof workerStatuses)[number];

/** 14 of 49 pairs. */
const workerTransitions: Readonly<Record<WorkerStatus, readonly WorkerStatus[]>> = {
  CREATING: ['CONNECTING', 'TERMINATED'],
  CONNECTING: ['READY', 'TERMINATED'],
  READY: ['BUSY', 'DRAINING', 'TERMINATING'],
  BUSY: ['READY', 'DRAINING', 'TERMINATED'],
  DRAINING: ['READY', 'TERMINATING', 'TERMINATED'],
  TERMINATING: ['TERMINATED'],
  TERMINATED: [],
};

export function workerMayBecome(from: WorkerStatus, to: WorkerStatus): boolean {
  return workerTransitions[from].includes(to);
}
