import type { Job, Task, Wait } from '../core/job.ts';
import type { TimerName } from '../core/signal.ts';
import { isFinal } from '../core/status.ts';
import { unreachable } from '../std/assert.ts';
import { formatDuration } from '../std/duration.ts';
import type { JobCauses } from '../store/contract.ts';

/** What is known of a job that one asks about. */
export interface Facts {
  readonly job: Job;
  /** Of a job that has not ended. */
  readonly causes: JobCauses | undefined;
  /** The task that it waits for. */
  readonly task: Task | undefined;
  /** Names of the signals that it takes now. */
  readonly takes: string[];
  readonly now: number;
  /** When the blackout ends that keeps the task in the queue; null: none does. */
  readonly blackoutEndsAt?: number | null;
  /** What was wrong when it was tried last; null: nothing was. */
  readonly lastFailure?: string | null;
  /** Nobody who fits may be given the task now. */
  readonly isShutOut?: boolean;
}

/** Why a job is where it is, in one line. */
export function summary(facts: Facts): string {
  const { job } = facts;
  if (isFinal(job.status))
    return `the job has ${job.status === 'cancelled' ? 'been cancelled' : job.status}${reason(job)}`;
  if (job.status === 'quarantined')
    return `the job is parked${reason(job)}; look at its history, then redrive or dismiss it`;
  const held = job.held ? 'an operator holds the job; ' : '';
  if (job.wait === null) return `${held}${handlerSummary(facts)}`;
  const takes = job.wait.type === 'event' ? '' : takesToo(facts);
  return `${held}${waitSummary(facts, job.wait)}${takes}`;
}

function waitSummary(facts: Facts, wait: Wait): string {
  const { job } = facts;
  switch (wait.type) {
    case 'timer':
      if (wait.key !== undefined) return `it waits for a place under the key "${wait.key}"`;
      if (isHandlerTriedAgain(job)) return handlerFailed(facts);
      return `it waits for its timer${inTime(facts, null, 'wake')}`;
    case 'task':
      return facts.task === undefined
        ? `it waits for task ${wait.taskId}`
        : `${taskSummary(facts, facts.task)}${lastTime(facts)}`;
    case 'parallel':
      return fanOutSummary(facts, wait.count);
    case 'approval':
      return `it waits for a person to decide: "${wait.message}"${until(facts)}`;
    case 'child':
      return `it waits for child ${wait.jobId}${until(facts)}`;
    case 'event': {
      const names = facts.takes.join(', ');
      return `it waits for signals${names === '' ? '' : ` ${names}`}${until(facts)}`;
    }
    default:
      return unreachable(wait);
  }
}

/** Its handler has failed, and a back-off is all that it waits for. */
export function isHandlerTriedAgain({ wait, failures }: Job): boolean {
  return failures > 0 && wait?.type === 'timer' && wait.to === null;
}

function handlerFailed(facts: Facts): string {
  const { state, failures } = facts.job;
  const again = timeLeft(facts, null, 'wake');
  const times = failures === 1 ? '' : ` ${failures} times`;
  return `the handler of state "${state}" has failed${times} and runs again in ${again}${lastTime(facts)}`;
}

function lastTime({ lastFailure = null }: Facts): string {
  return lastFailure === null ? '' : `; last time: ${lastFailure}`;
}

/** The rows of a state apply whatever it waits for. */
function takesToo({ takes }: Facts): string {
  return takes.length === 0 ? '' : `; it takes signals ${takes.join(', ')}`;
}

function reason({ error }: Job): string {
  return error === null ? '' : `: ${error.message} (${error.code})`;
}

function handlerSummary({ job, causes }: Facts): string {
  if (job.lease !== null)
    return `the handler of state "${job.state}" runs on instance ${job.lease.instance}`;
  if (job.held) return `the handler of state "${job.state}" begins when it is released`;
  return causes?.runnable
    ? `the handler of state "${job.state}" waits for an instance that holds blueprint "${job.blueprint}" version ${job.blueprintVersion}`
    : `nothing moves the handler of state "${job.state}": this is a bug`;
}

function taskSummary(facts: Facts, task: Task): string {
  const { job, causes, now } = facts;
  const { attempt } = task;
  if (attempt !== null) {
    const since = formatDuration(now - attempt.assignedAt);
    return `worker ${attempt.worker} has had attempt ${attempt.number} of "${task.spec.skill}" for ${since} (${task.status})`;
  }
  const { blackoutEndsAt = null } = facts;
  if (causes?.queued.includes(task.id) && blackoutEndsAt !== null)
    return `task "${task.spec.skill}" is queued; the blackout "${task.spec.notDuring}" keeps it there for ${formatDuration(blackoutEndsAt - now)}`;
  if (causes?.queued.includes(task.id) && facts.isShutOut)
    return `task "${task.spec.skill}" is queued; the circuit of every worker that fits is open`;
  if (causes?.queued.includes(task.id))
    return `task "${task.spec.skill}" is queued and waits for a worker`;
  const due = inTime(facts, task.id, 'ready');
  if (job.held && due === '')
    return `task "${task.spec.skill}" goes to the queue when it is released`;
  return `task "${task.spec.skill}" is planned${due}`;
}

function fanOutSummary({ causes }: Facts, count: number): string {
  const open = causes?.tasks ?? [];
  const running = open.filter(({ attempt }) => attempt !== null).length;
  const queued = causes?.queued.length ?? 0;
  const parts = [
    [queued, 'queued'],
    [open.length - running - queued, 'planned'],
    [running, 'with a worker'],
  ] as const;
  const shown = parts.filter(([number]) => number > 0).map((part) => part.join(' '));
  return `it waits for ${open.length} of ${count} tasks of its fan-out: ${shown.join(', ')}`;
}

function inTime(facts: Facts, taskId: string | null, name: TimerName): string {
  const left = timeLeft(facts, taskId, name);
  return left === null ? '' : `, which is due in ${left}`;
}

/** The end of a wait that somebody else may end before. */
function until(facts: Facts): string {
  const silence = timeLeft(facts, null, 'silence');
  if (silence !== null) return `; it counts as silent in ${silence}`;
  const deadline = timeLeft(facts, null, 'deadline');
  return deadline === null ? '' : `; its deadline is in ${deadline}`;
}

function timeLeft({ causes, now }: Facts, taskId: string | null, name: TimerName): string | null {
  const timer = causes?.timers.find(
    (candidate) => candidate.taskId === taskId && candidate.name === name,
  );
  return timer === undefined ? null : formatDuration(timer.at - now);
}
