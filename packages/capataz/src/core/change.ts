import type { Emission } from './emit.ts';
import type { HistoryEntry } from './history.ts';
import type { BranchResult, Job, TaskSpec } from './job.ts';
import type { InboxItem, RefusalReason, Timer, TimerName } from './signal.ts';
import type { TaskEnd, TaskStatus } from './status.ts';

/** What `decide` answers: the whole effect of a signal as plain data, or a named refusal. */
export type Decision = ({ readonly type: 'change' } & Change) | Refusal;

export interface Refusal {
  readonly type: 'refusal';
  readonly reason: RefusalReason;
  /** What the row of the signal said. */
  readonly said?: string;
}

/**
 * One step of a job. The store applies all of it or nothing. `job.version` is the version that the
 * decision was made on (0 for a new job); the store raises it and stamps `createdAt`, `enteredAt`
 * (where `entered`) and `endedAt` with its own now.
 */
export interface Change {
  readonly job: Job;
  /**
   * `tasks`: the job itself stays as it is, and its version too; what is checked are the attempts
   * that the tasks' steps name. So branches of a fan-out never get into each other's way. With
   * `posts` to the job itself its version is checked as well.
   */
  readonly scope: 'job' | 'tasks';
  /** A state was entered: `enteredAt` becomes the store's now. */
  readonly entered: boolean;
  readonly tasks: readonly TaskChange[];
  /** The job's own deadlines after this step, in place of the former ones. `keep`: untouched. */
  readonly timers: readonly Timer[] | 'keep';
  /** How long the lease in `job.lease` lives from now on. `keep`: as long as it did. */
  readonly leaseForMs: number | 'keep';
  readonly history: readonly HistoryEntry[];
  readonly reservations: readonly Reservation[];
  /** What few changes do besides; null for the many. */
  readonly also: Also | null;
}

export interface Also {
  /** Beside kept deadlines: set anew, and dropped. */
  readonly rearm: readonly Timer[];
  readonly disarm: readonly TimerName[];
  /** Shares given back, or settled at what was used. */
  readonly releases: readonly string[];
  readonly settles: readonly { readonly key: string; readonly amount: number }[];
  /**
   * What the wait that begins here is for. Where it is to be had by now the job looks again at once: it may
   * have been given back between the refusal and this change.
   */
  readonly awaits: ShareWish | null;
  /** The deadline that brought the change: the store refuses it as `not_due` where it is set no more. */
  readonly fired: FiredDeadline | null;
  /** A signal of this id is taken, once: the store refuses it a second time as `seen`. */
  readonly signalId: string | null;
  /** Left in the inboxes of jobs. */
  readonly posts: readonly Post[];
  /** Items taken out of the job's own inbox. */
  readonly takes: readonly InboxItem['id'][];
  /** The new wait may be answered by what lies in the inbox already. */
  readonly looks: boolean;
  /** Correlation keys by which the job can be addressed from now on. */
  readonly keys: readonly string[];
  /** Goes to the bus once it is stored (S-58). */
  readonly emits: readonly Emitted[];
  /** New jobs, which come into being with this change or not at all. */
  readonly children: readonly Change[];
}

export interface ShareWish {
  readonly key: string;
  readonly amount: number;
  readonly limit: number;
}

export interface FiredDeadline {
  readonly taskId: string | null;
  readonly name: TimerName;
  readonly at: number;
}

/** An emission with the id that it keeps through all repetitions. */
export interface Emitted extends Emission {
  readonly id: string;
  /** Its place among the events of its job, from 1. */
  readonly number: number;
}

/** Thrown away where the job has ended, or waits for no child of that id (`child`). */
export interface Post {
  readonly jobId: string;
  readonly item: InboxItem;
  /** Default: until the job ends. */
  readonly expiresAfterMs: number | null;
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
  | {
      /** A branch has ended: its result is kept until all have. The last one arms `inbox`. */
      readonly type: 'collect';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly status: TaskEnd;
      readonly result: BranchResult;
    }
  /** Ends all open tasks, and forgets what was collected. */
  | { readonly type: 'cancel_all' };

/**
 * A share of something limited, taken in the same commit as the work that needs it (S-5). Refused
 * with `limit` when what is held under the key plus `amount` would exceed `limit`, or when another
 * job waits for the key longer. It is given back when the job ends, when its wait ends (`until`), or
 * when `expiresAfterMs` has passed.
 */
export interface Reservation {
  readonly key: string;
  readonly amount: number;
  readonly limit: number;
  readonly expiresAfterMs: number | null;
  readonly until: 'job' | 'wait';
}
