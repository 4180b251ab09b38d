import type { Job, Task } from './job.ts';
import type { TimerName } from './signal.ts';
import { isFinal } from './status.ts';

export interface Causes {
  readonly job: Job;
  readonly tasks: readonly Task[];
  readonly runnable: boolean;
  readonly leaseEndsAt: number | null;
  readonly timers: readonly { readonly taskId: string | null; readonly name: TimerName }[];
  readonly queued: readonly string[];
  readonly watched: readonly string[];
}

/**
 * The rule of no limbo: a job that has not ended has at least one living cause of progress.
 * @returns why it has none, or null where all is well.
 */
export function limbo(causes: Causes): string | null {
  const { job } = causes;
  if (isFinal(job.status) || job.status === 'quarantined' || job.held) return null;
  if (job.wait === null) {
    if (causes.runnable || causes.leaseEndsAt !== null) return null;
    return `status ${job.status}, but no handler is runnable or leased`;
  }
  switch (job.wait.type) {
    case 'timer':
      if (causes.timers.some(({ taskId, name }) => taskId === null && name === 'wake')) return null;
      return 'it waits for a timer that is not set';
    case 'task':
      return taskLimbo(causes, job.wait.taskId);
  }
}

function taskLimbo(causes: Causes, taskId: string): string | null {
  const task = causes.tasks.find((candidate) => candidate.id === taskId);
  if (task === undefined) return `it waits for task ${taskId}, which does not exist`;
  if (causes.queued.includes(taskId) || causes.watched.includes(taskId)) return null;
  if (causes.timers.some((timer) => timer.taskId === taskId)) return null;
  return `task ${taskId} is ${task.status}, but neither queued, nor held by a watched worker, nor under a deadline`;
}
