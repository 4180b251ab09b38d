import type { Job, Task, TaskSpec } from '../../core/job.ts';
import type { TaskStatus } from '../../core/status.ts';
import { type AttemptColumns, attemptOf, deadlinesOf } from '../rows.ts';

/** Rows as the reading statements give them, and the records that they stand for. */

export interface JobRow {
  readonly record: string;
  readonly data: string;
  readonly pinned: string;
}

type Pinned = Pick<Job, 'input' | 'options' | 'trace' | 'parent'>;
/** What is written anew with each step. */
type Present = Omit<Job, 'data' | keyof Pinned>;

export function jobOf({ record, data, pinned }: JobRow): Job {
  return {
    ...(JSON.parse(record) as Present),
    ...(JSON.parse(pinned) as Pinned),
    data: JSON.parse(data) as Job['data'],
  };
}

/**
 * Records come to be written as canonical copies, whose members stand in order. Member by member: a copy
 * without five of them took three times as long.
 */
export function recordText(job: Job): string {
  const present: Present = {
    answer: job.answer,
    blueprint: job.blueprint,
    blueprintVersion: job.blueprintVersion,
    client: job.client,
    correlationId: job.correlationId,
    createdAt: job.createdAt,
    decided: job.decided,
    emitted: job.emitted,
    endedAt: job.endedAt,
    enteredAt: job.enteredAt,
    entry: job.entry,
    error: job.error,
    failures: job.failures,
    held: job.held,
    hops: job.hops,
    id: job.id,
    lease: job.lease,
    result: job.result,
    results: job.results,
    resume: job.resume,
    state: job.state,
    status: job.status,
    unread: job.unread,
    version: job.version,
    wait: job.wait,
  };
  return JSON.stringify(present);
}

export function pinnedText({ input, options, trace, parent }: Job): string {
  return JSON.stringify({ input, options, trace, parent } satisfies Pinned);
}

export interface TaskRow extends AttemptColumns {
  readonly job: string;
  readonly id: string;
  readonly n: number;
  readonly class: string;
  readonly status: TaskStatus;
  readonly queued: boolean;
  readonly hand_out: number | null;
  readonly failures: number;
  readonly lost_runs: number;
  readonly timers: string;
  /** Null where it is not needed. */
  readonly spec: string | null;
}

/** The rules look at no spec of a task that ends, or stays where it is. */
const unreadSpec = {};

export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    jobId: row.job,
    spec: (row.spec === null ? unreadSpec : JSON.parse(row.spec)) as TaskSpec,
    status: row.status,
    attempts: row.attempts,
    attempt: attemptOf(row),
    failures: row.failures,
    lostRuns: row.lost_runs,
    resultAt: deadlinesOf(row).result ?? null,
  };
}
