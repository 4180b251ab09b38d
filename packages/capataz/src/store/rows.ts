import type { HistoryEntry, StoredEntry } from '../core/history.ts';
import type { Task } from '../core/job.ts';
import type { ScheduleOutcome, SlotRecord, StoredSchedule } from './contract.ts';
import type { Deadlines } from './rules.ts';

/** What rows of every store on a database have in common. */

export interface AttemptColumns {
  readonly attempts: number;
  readonly attempt_id: string | null;
  readonly worker: string | null;
  readonly incarnation: string | null;
  readonly assigned_at: number | null;
}

/** The columns of an attempt are set and cleared together. */
export function attemptOf(row: AttemptColumns): Task['attempt'] {
  const { attempt_id: id, attempts, worker, incarnation, assigned_at: assignedAt } = row;
  if (id === null || worker === null || incarnation === null || assignedAt === null) return null;
  return { id, number: attempts, worker, incarnation, assignedAt };
}

export function deadlinesOf({ timers }: { readonly timers: string }): Deadlines {
  return timers === '{}' ? {} : (JSON.parse(timers) as Deadlines);
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

export interface ScheduleRow {
  readonly name: string;
  readonly handled: number;
  readonly paused_at: number | null;
  readonly resumed_at: number | null;
  readonly changed_by: string | null;
  readonly recent: string;
}

export function scheduleOf(row: ScheduleRow): StoredSchedule {
  return {
    name: row.name,
    handled: row.handled,
    pausedAt: row.paused_at,
    resumedAt: row.resumed_at,
    changedBy: row.changed_by,
    recent: JSON.parse(row.recent) as SlotRecord[],
  };
}

/** Rows of schedules are never removed: there is one where something was changed. */
export function scheduleOutcome(
  isDone: boolean,
  [schedule]: readonly StoredSchedule[],
): ScheduleOutcome {
  return isDone && schedule !== undefined
    ? { type: 'done', schedule }
    : { type: 'stale', schedule: schedule ?? null };
}
