import type { Deadlines } from '../rules.ts';
import type { NeedMessage } from './messages.ts';
import type { WriterState } from './writer-state.ts';

/** What the checks of a change found and hand to its writing. */

/** The stored job as a change meets it. */
export interface FoundJob {
  readonly n: number;
  readonly version: number;
  readonly held: number;
  readonly lease_token: string | null;
  readonly lease_until: number | null;
  readonly timers: string;
  readonly due_at: number | null;
  readonly beside: number;
}

/** How the job goes on: as the change says, or, where that leaves the job alone, as it was found. */
export interface Standing {
  readonly held: number;
  readonly hasLease: boolean;
  readonly need: NeedMessage;
  readonly isFannedOut: boolean;
}

/** An open task as it will stand; `n` is null where it is not stored yet. */
export interface PlannedTask {
  readonly n: number | null;
  readonly status: string;
  readonly attempt: string | null;
  readonly worker: string | null;
  readonly deadlines: Deadlines;
}

export interface TaskPlan {
  /** Branches have ended, and are not given up by the same change. */
  readonly collects: boolean;
  /** What was touched, as it will stand; null: not open. */
  readonly after: Map<string, PlannedTask | null>;
  readonly othersAreGone: boolean;
  /** For each step the task that it works on, as it will stand after the step. */
  readonly targets: readonly (PlannedTask | null)[];
}

export interface Times {
  readonly timers: string;
  readonly dueAt: number | null;
  readonly leaseUntil: number | null;
}

export function findTask(
  state: WriterState,
  job: FoundJob | undefined,
  id: string,
): PlannedTask | null {
  if (job === undefined) return null;
  const row = state.statements.get<{
    n: number;
    status: string;
    attempt_id: string | null;
    worker: string | null;
    timers: string;
  }>('task-find', job.n, id);
  if (row === undefined) return null;
  const { n, status, attempt_id: attempt, worker, timers } = row;
  return { n, status, attempt, worker, deadlines: JSON.parse(timers) as Deadlines };
}
