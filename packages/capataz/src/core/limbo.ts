import { unreachable } from '../std/assert.ts';
import type { Job, Task, Wait } from './job.ts';
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
  /** Of a job that waits for a child: whether that one can still end, or be found parked. */
  readonly childIsOpen: boolean;
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
  return waitLimbo(causes, job.wait);
}

function waitLimbo(causes: Causes, wait: Wait): string | null {
  const isSet = (name: TimerName): boolean =>
    causes.timers.some((timer) => timer.taskId === null && timer.name === name);
  switch (wait.type) {
    case 'timer':
      return isSet('wake') ? null : 'it waits for a timer that is not set';
    case 'task':
      return taskLimbo(causes, wait.taskId);
    case 'parallel':
      return branchesLimbo(causes, isSet('inbox'));
    case 'event':
      return isSet('silence') || isSet('deadline') || isSet('inbox')
        ? null
        : 'it waits for signals under no deadline';
    case 'child':
      return causes.childIsOpen || isSet('inbox') || isSet('deadline')
        ? null
        : `it waits for child ${wait.jobId}, which is not there`;
    case 'approval':
      return null;
    default:
      return unreachable(wait);
  }
}

function branchesLimbo(causes: Causes, isJoining: boolean): string | null {
  if (isJoining) return null;
  if (causes.tasks.length === 0) return 'it waits for branches that do not exist';
  for (const { id } of causes.tasks) {
    const problem = taskLimbo(causes, id);
    if (problem !== null) return problem;
  }
  return null;
}

function taskLimbo(causes: Causes, taskId: string): string | null {
  const task = causes.tasks.find((candidate) => candidate.id === taskId);
  if (task === undefined) return `it waits for task ${taskId}, which does not exist`;
  if (causes.queued.includes(taskId) || causes.watched.includes(taskId)) return null;
  if (causes.timers.some((timer) => timer.taskId === taskId)) return null;
  return `task ${taskId} is ${task.status}, but neither queued, nor held by a watched worker, nor under a deadline`;
}
