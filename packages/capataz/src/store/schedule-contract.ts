import type { SlotOutcome } from '../protocol/schedules-api.ts';

/** What the store's verbs of schedules speak of. Slots are instants in ms since 1970 UTC. */

/** What is remembered of a schedule. What it is stands in a file, and may differ from what it was. */
export interface StoredSchedule {
  readonly name: string;
  /** The last slot that was dealt with; before there was one, when the schedule was first seen. */
  readonly handled: number;
  readonly pausedAt: number | null;
  /** When the last pause ended. */
  readonly resumedAt: number | null;
  /** Who paused or resumed it last. */
  readonly changedBy: string | null;
  /** What became of its latest slots, the latest last. */
  readonly recent: readonly SlotRecord[];
}

/** What became of one slot, or of several in a row that went the same way. */
export interface SlotRecord {
  readonly first: number;
  readonly last: number;
  readonly outcome: SlotOutcome;
  readonly jobId: string | null;
  readonly reason: string | null;
  readonly at: number;
}

/** What is left out stays as it is. */
export interface ScheduleChange {
  /** `handled` as it was read; null: there was none of this name. */
  readonly expected: number | null;
  /** It goes back with a resume alone. Default for a new one: the store's now. */
  readonly handled?: number;
  readonly recent?: readonly SlotRecord[];
  /** A pause of what is paused, or the end of none, changes nothing. */
  readonly pause?: { readonly isPaused: boolean; readonly by: string };
}

/** The schedule as it stands now. */
export type ScheduleOutcome =
  | { readonly type: 'done'; readonly schedule: StoredSchedule }
  /** `handled` is another one than was read, and nothing was changed. */
  | { readonly type: 'stale'; readonly schedule: StoredSchedule | null };
