import type { JsonValue } from '../std/json.ts';
import type { TaskStatus } from './status.ts';

/**
 * What can stand in a job's book. One commit may write several entries; the sequence within a job
 * counts entries and has no gaps.
 */
export const historyTypes = [
  'job_created',
  'state_entered',
  'guard_failed',
  'handler_claimed',
  'handler_failed',
  'handler_lost',
  'timer_set',
  'task_dispatched',
  'task_ready',
  'task_assigned',
  'task_started',
  'task_finished',
  'task_failed',
  'task_requeued',
  'task_cancelled',
  'task_timed_out',
  'report_refused',
  'signal_refused',
  'job_held',
  'job_released',
  'job_finished',
  'job_failed',
  'job_cancelled',
  'job_quarantined',
  'job_redriven',
  'job_dismissed',
  'job_repaired',
  'signal_taken',
  'signal_kept',
  'fan_out_begun',
  'fan_out_ended',
  'approval_asked',
  'approval_decided',
  'approval_escalated',
  'child_started',
  'child_ended',
  'wait_begun',
  'wait_timed_out',
  'silence_prolonged',
  'polled',
  'event_emitted',
  'share_awaited',
  'entry_lost',
] as const;
export type HistoryType = (typeof historyTypes)[number];

/** An entry as `decide` writes it; the store adds sequence and time. */
export interface HistoryEntry {
  readonly type: HistoryType;
  readonly state?: string;
  readonly from?: string;
  readonly to?: string;
  readonly task?: string;
  readonly attempt?: string;
  readonly worker?: string;
  /** The task's status before and after. */
  readonly taskFrom?: TaskStatus;
  readonly taskTo?: TaskStatus;
  readonly reason?: string;
  /** Who asked for it, where a person or a program did. */
  readonly actor?: string;
  readonly number?: number;
  readonly delayMs?: number;
  readonly details?: JsonValue;
}

export interface StoredEntry extends HistoryEntry {
  readonly seq: number;
  readonly at: number;
}
