import type { Change, TaskChange } from '../core/change.ts';
import type { HistoryEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import type { Phase } from '../core/phase.ts';
import type { Timer, TimerName } from '../core/signal.ts';
import { isFinal, type TaskStatus } from '../core/status.ts';
import type { Choice } from '../core/strategy.ts';
import type { Claim, Counts, Forget, PhaseCount } from './contract.ts';

/** What the stores have in common: pure rules over records, none of which knows how they are kept. */

/** The instants at which the deadlines of a job or a task are due. There is one of a name. */
export type Deadlines = Readonly<Partial<Record<TimerName, number>>>;

/** Idempotency keys are kept this long even if their job ends sooner. */
export const keyLifeMs = 24 * 3_600_000;

export function armed(timers: readonly Timer[], at: number): Deadlines {
  const deadlines: Partial<Record<TimerName, number>> = {};
  for (const { name, afterMs } of timers) deadlines[name] = at + afterMs;
  return deadlines;
}

export function earliest(deadlines: Deadlines): number | null {
  let first: number | null = null;
  for (const at of Object.values(deadlines)) {
    if (first === null || at < first) first = at;
  }
  return first;
}

export function deadlineList(deadlines: Deadlines): { name: TimerName; at: number }[] {
  const list = Object.entries(deadlines).map(([name, at]) => ({ name: name as TimerName, at }));
  return list.sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));
}

/** A requeue replaces all deadlines but the one of the result, which spans retries (S-22). */
export function afterRequeue(before: Deadlines, fresh: Deadlines): Deadlines {
  return before.result === undefined ? fresh : { ...fresh, result: before.result };
}

/** A hand-out ends the wait for one; without a result deadline the attempt's own limit runs. */
export function afterHandOut(before: Deadlines, executionLimitMs: number, at: number): Deadlines {
  if (before.result !== undefined) return { result: before.result };
  return { execution: at + executionLimitMs };
}

/** The id that a signal's sender gave it, by which it counts once. */
export function signalIdOf(itemId: string): string {
  return itemId.startsWith('signal:') ? itemId.slice('signal:'.length) : itemId;
}

/** Signals that may lie in the inbox of one job. */
export const maxEarly = 100;

/**
 * When the job is to look into its inbox: at once, and at another instant than was set before, so
 * that a look that began earlier switches off its own alarm only.
 */
export function rungAt(before: number | undefined, at: number): number {
  return before === undefined ? at : Math.min(before - 1, at);
}

/**
 * The job's deadlines after a change. An alarm of the inbox outlives what else is replaced: only a
 * look into it switches it off.
 */
export function deadlinesAfter(change: Change, before: Deadlines, at: number): Deadlines {
  const { timers, also } = change;
  const kept: Partial<Record<TimerName, number>> =
    timers === 'keep' ? { ...before } : { ...armed(timers, at), ...inboxAlarm(before) };
  if (also === null) return kept;
  for (const name of also.disarm) delete kept[name];
  return { ...kept, ...armed(also.rearm, at) };
}

function inboxAlarm({ inbox }: Deadlines): Deadlines {
  return inbox === undefined ? {} : { inbox };
}

/**
 * Decisions of one commit about one job build on each other. Where one is refused, those behind it
 * were made on a version that never came to be, whoever else has raised the job to that number.
 */
export class Chains {
  /** Job → the version on which the first refused change of this commit was decided. */
  readonly #brokenAt = new Map<string, number>();

  isBroken(jobId: string, decidedOn: number): boolean {
    const brokenAt = this.#brokenAt.get(jobId);
    return brokenAt !== undefined && decidedOn > brokenAt;
  }

  refused(jobId: string, decidedOn: number): void {
    if (!this.#brokenAt.has(jobId)) this.#brokenAt.set(jobId, decidedOn);
  }
}

/** The job as the store keeps it after the change. */
export function stampedJob(change: Change, at: number): Job {
  const { job, entered } = change;
  const created = job.version === 0;
  return {
    ...job,
    version: job.version + 1,
    createdAt: created ? at : job.createdAt,
    enteredAt: entered || created ? at : job.enteredAt,
    endedAt: isFinal(job.status) ? at : null,
  };
}

export function isRunnable(job: Job): boolean {
  const idle = job.wait === null && job.lease === null && !job.held;
  return idle && (job.status === 'pending' || job.status === 'running');
}

export function isQueued(status: TaskStatus, deadlines: Deadlines, held: boolean): boolean {
  return status === 'PENDING' && deadlines.ready === undefined && !held;
}

/** @param ended `isSurplus`: it is among those that are too many. */
export function isToForget(
  { olderThanMs }: Forget,
  ended: { readonly endedAt: number; readonly isSurplus: boolean },
  at: number,
): boolean {
  return ended.isSurplus || (olderThanMs !== null && ended.endedAt < at - olderThanMs);
}

/** PENDING → ASSIGNED, or SCHEDULED where the task names its worker (S-17). */
export function handedOutStatus(bound: boolean): TaskStatus {
  return bound ? 'SCHEDULED' : 'ASSIGNED';
}

export function startedTask(jobId: string, start: TaskChange & { type: 'start' }): Task {
  return {
    id: start.taskId,
    jobId,
    spec: start.spec,
    status: 'PENDING',
    attempts: 0,
    attempt: null,
    failures: 0,
    lostRuns: 0,
    resultAt: null,
  };
}

export function assignedEntry(
  task: { readonly id: string; readonly bound: boolean; readonly attempts: number },
  attempt: string,
  claim: { readonly worker: Claim['worker']; readonly choice: Choice },
): HistoryEntry {
  return {
    type: 'task_assigned',
    task: task.id,
    attempt,
    worker: claim.worker,
    taskFrom: 'PENDING',
    taskTo: handedOutStatus(task.bound),
    number: task.attempts,
    details: { ...claim.choice },
  };
}

export function startedEntry(
  task: string,
  attempt: string,
  worker: string,
  taskFrom: TaskStatus,
): HistoryEntry {
  return { type: 'task_started', task, attempt, worker, taskFrom, taskTo: 'RUNNING' };
}

/** Characters of specs that one claim hands out, about: the last task may go beyond. */
export const maxClaimed = 8 * 1024 * 1024;

/** The same of all claims of one commit, whose answer has to fit into one text. */
export const maxClaimedTogether = 64 * 1024 * 1024;

/** What the claims of one commit may still hand out. */
export class HandOutRoom {
  #ofCommit = maxClaimedTogether;
  #ofClaim = 0;

  /** The next claim's turn. @returns whether there is room for it. */
  nextClaim(): boolean {
    this.#ofClaim = maxClaimed;
    return this.#ofCommit > 0;
  }

  get isFull(): boolean {
    return this.#ofClaim <= 0 || this.#ofCommit <= 0;
  }

  /** A task whose spec has so many characters was handed out. */
  take(characters: number): void {
    this.#ofClaim -= characters;
    this.#ofCommit -= characters;
  }
}

export interface SealedEntry {
  readonly text: string;
  readonly lost: boolean;
}

/** An entry that JSON can't hold leaves a marker in its place: the book never stops a job (S-45). */
export function sealedEntry(entry: HistoryEntry): SealedEntry {
  try {
    return { text: JSON.stringify(entry), lost: false };
  } catch (error) {
    const reason = `${entry.type}: ${error instanceof Error ? error.message : String(error)}`;
    const marker: HistoryEntry = { type: 'entry_lost', reason };
    return { text: JSON.stringify(marker), lost: true };
  }
}

/** Adds up `Counts.phases`. */
export class PhaseCounter {
  readonly #counts: Partial<Record<Phase, PhaseCount>> = {};

  /** Nobody in a phase is no entry. */
  add(phase: Phase, jobs: number, oldestAt: number | null): void {
    if (jobs <= 0) return;
    const before = this.#counts[phase] ?? { jobs: 0, oldestAt: null };
    const beginnings = [before.oldestAt, oldestAt].filter((at) => at !== null);
    this.#counts[phase] = {
      jobs: before.jobs + jobs,
      oldestAt: beginnings.length === 0 ? null : Math.min(...beginnings),
    };
  }

  get counts(): Counts['phases'] {
    return this.#counts;
  }
}
