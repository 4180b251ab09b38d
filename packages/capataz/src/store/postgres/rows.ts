import type { HistoryEntry, StoredEntry } from '../../core/history.ts';
import type { Job, Task, TaskSpec } from '../../core/job.ts';
import type { TaskStatus } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import type { Deadlines } from '../rules.ts';

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

export interface TaskRow {
  readonly job: string;
  readonly id: string;
  readonly n: number;
  readonly class: string;
  readonly status: TaskStatus;
  readonly queued: boolean;
  readonly attempts: number;
  readonly attempt_id: string | null;
  readonly worker: string | null;
  readonly incarnation: string | null;
  readonly assigned_at: number | null;
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

/** The columns of an attempt are set and cleared together. */
function attemptOf(row: TaskRow): Task['attempt'] {
  const { attempt_id: id, attempts, worker, incarnation, assigned_at: assignedAt } = row;
  if (id === null || worker === null || incarnation === null || assignedAt === null) return null;
  return { id, number: attempts, worker, incarnation, assignedAt };
}

export function deadlinesOf({ timers }: { readonly timers: string }): Deadlines {
  return JSON.parse(timers) as Deadlines;
}

export interface HistoryRow {
  readonly seq: number;
  readonly at: number;
  readonly count: number;
  readonly entries: string;
}

/** A row holds the entries of one commit; its sequence is that of the last. */
export function entriesOf({ seq, at, count, entries }: HistoryRow): StoredEntry[] {
  const first = seq - count + 1;
  return (JSON.parse(entries) as HistoryEntry[]).map((entry, index) => ({
    ...entry,
    seq: first + index,
    at,
  }));
}
