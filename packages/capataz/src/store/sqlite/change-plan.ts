import type { Deadlines } from '../rules.ts';

/** What the checks of a change found and hand to its writing. */

/** The stored job as a change meets it. */
export interface FoundJob {
  readonly n: number;
  readonly version: number;
  readonly held: number;
  readonly lease_until: number | null;
  readonly timers: string;
  readonly due_at: number | null;
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
