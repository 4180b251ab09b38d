/** Schedules of jobs, on the client's wire. */

/**
 * What became of a slot: its job was `started`; the job of an earlier one was still `busy`; it fell
 * into a `blackout`; it was `missed` and not caught up with; its start was `refused`.
 */
export const slotOutcomes = ['started', 'busy', 'blackout', 'missed', 'refused'] as const;
export type SlotOutcome = (typeof slotOutcomes)[number];

/** What became of one slot, or of several in a row that went the same way. */
export interface SlotRecordView {
  readonly first_slot: string;
  /** The last of them; the same as the first where it is one. */
  readonly slot: string;
  readonly outcome: SlotOutcome;
  /** Of `started`. */
  readonly job_id: string | null;
  /** The blackout's name, the rule that left them out, or the refusal. */
  readonly reason: string | null;
  /** When it was settled. */
  readonly at: string;
}

export interface ScheduleView {
  readonly name: string;
  readonly blueprint: string;
  /** In words: `every 15m`, `daily at 02:30`. */
  readonly rule: string;
  readonly zone: string;
  /** `none`, or the longest, like `2m`. */
  readonly jitter: string;
  readonly overlap: string;
  readonly catch_up: string;
  /** Names of blackouts. */
  readonly blackouts: readonly string[];
  readonly in_blackout: string;
  readonly paused: boolean;
  /** Null where it is not paused, or paused in the file. */
  readonly paused_at: string | null;
  /** Whose token paused it, or the name of the file that does; null where it is not paused. */
  readonly paused_by: string | null;
  /** The next starts, as if it were not paused; empty where there is none. */
  readonly next_starts: readonly string[];
  /** What became of the latest slots, the latest first; at most 20. */
  readonly recent: readonly SlotRecordView[];
}

export interface SchedulesAnswer {
  readonly schedules: readonly ScheduleView[];
}
