import type { HistoryEntry } from './history.ts';
import type { Job, TaskSpec } from './job.ts';
import type { RefusalReason, Timer } from './signal.ts';
import type { TaskEnd, TaskStatus } from './status.ts';

/** What `decide` answers: the whole effect of a signal as plain data, or a named refusal. */
export type Decision =
  | ({ readonly type: 'change' } & Change)
  | { readonly type: 'refusal'; readonly reason: RefusalReason };

/**
 * One step of a job. The store applies all of it or nothing. `job.version` is the version that the
 * decision was made on (0 for a new job); the store raises it and stamps `createdAt`, `enteredAt`
 * (where `entered`) and `endedAt` with its own now.
 */
export interface Change {
  readonly job: Job;
  /** A state was entered: `enteredAt` becomes the store's now. */
  readonly entered: boolean;
  readonly tasks: readonly TaskChange[];
  /** The job's own deadlines after this step, in place of the former ones. `keep`: untouched. */
  readonly timers: readonly Timer[] | 'keep';
  /** How long the lease in `job.lease` lives from now on. `keep`: as long as it did. */
  readonly leaseForMs: number | 'keep';
  readonly history: readonly HistoryEntry[];
  readonly reservations: readonly Reservation[];
}

/**
 * Each names the attempt and the status it was decided on; where the task has another of either by
 * now, the change is stale.
 */
export type TaskChange =
  | {
      readonly type: 'start';
      readonly taskId: string;
      readonly spec: TaskSpec;
      readonly timers: readonly Timer[];
    }
  | {
      /**
       * Back to PENDING, handed to nobody. `timers` replace all but the `result` deadline, which
       * spans retries. With a `ready` timer it is queued when that is due, else at once.
       */
      readonly type: 'requeue';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly failures: number;
      readonly lostRuns: number;
      readonly timers: readonly Timer[];
    }
  | {
      readonly type: 'end';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly status: TaskEnd;
    }
  | { readonly type: 'cancel_all' };

/**
 * A share of something limited, taken in the same commit as the work that needs it (S-5). Refused
 * with `limit` when what is held under the key plus `amount` would exceed `limit`. It is given back
 * when the job ends, or when `expiresAfterMs` has passed.
 */
export interface Reservation {
  readonly key: string;
  readonly amount: number;
  readonly limit: number;
  readonly expiresAfterMs: number | null;
}
