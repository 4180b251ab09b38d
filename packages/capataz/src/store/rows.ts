import type { HistoryEntry, StoredEntry } from '../core/history.ts';
import type { Task } from '../core/job.ts';
import type {
  BookRow,
  EventPage,
  HistoryRow,
  JobEvent,
  ScheduleOutcome,
  SlotRecord,
  StoredSchedule,
} from './contract.ts';
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

export function entriesOf({ seq, at, count, entries }: HistoryRow): StoredEntry[] {
  const first = seq - count + 1;
  return (JSON.parse(entries) as HistoryEntry[]).map((entry, index) => ({
    ...entry,
    seq: first + index,
    at,
  }));
}

/** Entries of a job out of its rows, in their order. */
export function bookOf(rows: readonly HistoryRow[], after: number, limit: number): StoredEntry[] {
  return rows
    .flatMap(entriesOf)
    .filter(({ seq }) => seq > after)
    .slice(0, limit);
}

/** As statements give it. */
export interface EventsRow extends HistoryRow {
  readonly position: number;
  readonly id: string;
  readonly client: string;
  readonly correlation: string;
}

/** Whole rows until there are at least `limit` entries, as far as there are any. */
export function eventPageOf(rows: readonly EventsRow[], after: number, limit: number): EventPage {
  const events: JobEvent[] = [];
  let position = after;
  for (const row of rows) {
    if (events.length >= limit) break;
    ({ position } = row);
    const { id: jobId, client, correlation: correlationId } = row;
    for (const entry of entriesOf(row))
      events.push({ position, jobId, client, correlationId, entry });
  }
  return { events, position };
}

export function bookRowOf(row: EventsRow): BookRow {
  const { position, id: jobId, client, correlation: correlationId, seq, at, count, entries } = row;
  return { position, jobId, client, correlationId, seq, at, count, entries };
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
