import type { Job, Task, TaskSpec } from '../../core/job.ts';
import type { JobStatus, TaskStatus } from '../../core/status.ts';
import { type AttemptColumns, attemptOf, deadlinesOf } from '../rows.ts';

/** Rows as the reading statements give them, and the records that they stand for. */

export interface JobRow {
  readonly n: number;
  readonly id: string;
  readonly version: number;
  readonly client: string;
  readonly blueprint: string;
  readonly blueprint_version: number;
  readonly status: JobStatus;
  readonly state: string;
  readonly entry: number;
  readonly hops: number;
  readonly failures: number;
  readonly held: number;
  readonly created_at: number;
  readonly entered_at: number;
  readonly ended_at: number | null;
  readonly rest: string;
  readonly data: string;
  readonly correlation: string;
  readonly input: string;
  readonly fixed: string;
  readonly lease_until: number | null;
  readonly timers: string;
}

export function jobOf(row: JobRow): Job {
  const fixed = JSON.parse(row.fixed) as Pick<Job, 'options' | 'trace' | 'parent'>;
  const rest = JSON.parse(row.rest) as Pick<Job, 'wait' | 'lease' | 'resume' | 'result' | 'error'> &
    Partial<Pick<Job, 'results' | 'answer' | 'unread' | 'decided' | 'emitted'>>;
  return {
    id: row.id,
    version: row.version,
    blueprint: row.blueprint,
    blueprintVersion: row.blueprint_version,
    client: row.client,
    status: row.status,
    state: row.state,
    entry: row.entry,
    hops: row.hops,
    failures: row.failures,
    held: row.held === 1,
    ...{ results: null, answer: null, unread: false, decided: [], emitted: 0 },
    ...rest,
    input: JSON.parse(row.input) as Job['input'],
    data: JSON.parse(row.data) as Job['data'],
    ...fixed,
    correlationId: row.correlation,
    createdAt: row.created_at,
    enteredAt: row.entered_at,
    endedAt: row.ended_at,
  };
}

export interface TaskRow extends AttemptColumns {
  readonly n: number;
  readonly id: string;
  readonly job_id: string;
  readonly status: TaskStatus;
  readonly queued: number;
  readonly failures: number;
  readonly lost_runs: number;
  readonly timers: string;
  readonly spec: string;
}

export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    jobId: row.job_id,
    spec: JSON.parse(row.spec) as TaskSpec,
    status: row.status,
    attempts: row.attempts,
    attempt: attemptOf(row),
    failures: row.failures,
    lostRuns: row.lost_runs,
    resultAt: deadlinesOf(row).result ?? null,
  };
}
