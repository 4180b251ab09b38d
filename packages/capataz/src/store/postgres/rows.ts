import type { Job, Task, TaskSpec } from '../../core/job.ts';
import type { TaskStatus } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import { type AttemptColumns, attemptOf, deadlinesOf } from '../rows.ts';

/** Rows as the reading statements give them, and the records that they stand for. */

export interface JobRow {
  readonly record: string;
  readonly data: string;
  readonly pinned: string;
}

export function jobOf({ record, data, pinned }: JobRow): Job {
  return {
    ...(JSON.parse(record) as Omit<Job, 'data' | 'input' | 'options' | 'trace' | 'parent'>),
    ...(JSON.parse(pinned) as Pick<Job, 'input' | 'options' | 'trace' | 'parent'>),
    data: JSON.parse(data) as Job['data'],
  };
}

export function jobTexts({ data, input, options, trace, parent, ...record }: Job): JobRow {
  return {
    record: canonicalJson(record),
    data: canonicalJson(data),
    pinned: canonicalJson({ input, options, trace, parent }),
  };
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
  readonly spec: string;
}

export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    jobId: row.job,
    spec: JSON.parse(row.spec) as TaskSpec,
    status: row.status,
    attempts: row.attempts,
    attempt: attemptOf(row),
    failures: row.failures,
    lostRuns: row.lost_runs,
    resultAt: deadlinesOf(row).result ?? null,
  };
}
