import { assert } from '../std/assert.ts';
import type { Job, Task } from './job.ts';
import { isFinal, type TaskStatus } from './status.ts';

/**
 * A job in the lifecycle seed's words, for its metrics and alerts: the eight of a task, and WAITING
 * for what has no single task to speak for it.
 */
export type Phase = TaskStatus | 'WAITING';

export const phases: readonly Phase[] = [
  'PENDING',
  'ASSIGNED',
  'SCHEDULED',
  'RUNNING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'TIMEOUT',
  'WAITING',
];

/**
 * Error codes of a job that a deadline ended. A task that nobody took in time is CANCELLED itself;
 * its job was cancelled by nobody, so there the deadline is what counts.
 */
const deadlineCodes: ReadonlySet<string> = new Set([
  'DISPATCH_TIMEOUT',
  'RESULT_TIMEOUT',
  'EXECUTION_LIMIT',
]);

/** `tasks`: the open ones that the job waits for. */
export function phase(job: Job, tasks: readonly Task[]): Phase {
  if (job.status === 'quarantined') return 'FAILED';
  if (isFinal(job.status)) return endedPhase(job);
  const { wait } = job;
  if (wait?.type === 'task') {
    const task = tasks.find(({ id }) => id === wait.taskId);
    assert(task !== undefined, 'the phase of a job that waits for a task needs the task');
    return task.status;
  }
  const isAtWork = job.lease !== null || tasks.some(({ attempt }) => attempt !== null);
  return isAtWork ? 'RUNNING' : 'WAITING';
}

export function endedPhase({ status, error }: Pick<Job, 'status' | 'error'>): Phase {
  switch (status) {
    case 'finished':
      return 'SUCCEEDED';
    case 'cancelled':
      return 'CANCELLED';
    default:
      return error !== null && deadlineCodes.has(error.code) ? 'TIMEOUT' : 'FAILED';
  }
}
