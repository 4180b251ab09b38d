import type { FiredDeadline, ShareWish } from '../../core/change.ts';
import type { InboxItem, TimerName } from '../../core/signal.ts';
import type { FinalStatus, TaskEnd, TaskStatus } from '../../core/status.ts';
import type { Choice } from '../../core/strategy.ts';
import type { Forget, Forgotten, OutboxVerdict, ScheduleChange } from '../contract.ts';
import type { Deadlines } from '../rules.ts';
import type { Parcel, TextRef } from './texts.ts';

/**
 * What the two threads say to each other, as JSON: one text is copied in a quarter of the time that
 * the objects would take. Payloads lie beside it (texts.ts), written on the side that sends and put
 * where they belong by the writer; answers carry only what the asking side can't compute.
 */
export interface WriterOptions {
  readonly database: string;
  readonly synchronous: 'full' | 'normal';
}

/** `at` is the store's now when the verb was called. */
export type Operation = { readonly at: number } & (
  | CommitOperation
  | {
      readonly type: 'renew_leases';
      readonly leases: readonly {
        readonly jobId: string;
        readonly token: string;
        readonly until: number;
      }[];
    }
  | {
      readonly type: 'save_worker';
      readonly id: string;
      readonly worker: string;
      readonly silentAt: number;
    }
  | { readonly type: 'touch_workers'; readonly touches: readonly TouchMessage[] }
  | { readonly type: 'remove_worker'; readonly id: string; readonly incarnation: string }
  | {
      readonly type: 'offer_blueprint';
      readonly name: string;
      readonly version: number;
      readonly graph: string;
    }
  | {
      readonly type: 'save_memo';
      readonly texts: readonly string[];
      readonly jobId: string;
      readonly token: string;
      readonly name: string;
      readonly value: TextRef;
    }
  | { readonly type: 'settle_outbox'; readonly verdicts: readonly OutboxVerdict[] }
  | { readonly type: 'redrive_letters'; readonly ids: readonly string[] }
  | {
      readonly type: 'resolve_letters';
      readonly ids: readonly string[];
      readonly by: string;
      readonly notes: string;
    }
  | { readonly type: 'forget_letters'; readonly before: number; readonly limit: number }
  | (Omit<ScheduleChange, 'recent'> & {
      readonly type: 'keep_schedule';
      readonly name: string;
      readonly recent?: string;
    })
  | { readonly type: 'take_over'; readonly graceMs: number }
  | { readonly type: 'forget_ended'; readonly what: Forget }
  | MovedMessage
  | { readonly type: 'archive_forgot'; readonly jobIds: readonly string[] }
  | { readonly type: 'close' }
);

/** Rows of books that were moved, or are wanted nowhere. */
export interface MovedMessage {
  readonly type: 'books_moved';
  readonly positions: readonly number[];
  /** Jobs with the last sequence of what lies in the archive; none where it is wanted nowhere. */
  readonly archived: readonly (readonly [job: string, seq: number])[];
  readonly position: number;
}

export interface CommitOperation {
  readonly type: 'commit';
  /** What the references in it mean. */
  readonly texts: readonly string[];
  readonly changes: readonly ChangeMessage[];
  readonly starts: readonly {
    readonly jobId: string;
    readonly taskId: string;
    readonly attempt: string;
  }[];
  readonly notes: readonly { readonly jobId: string; readonly book: BookMessage }[];
  readonly letters: readonly LetterMessage[];
  readonly claims: readonly ClaimMessage[];
}

export interface ItemMessage {
  readonly id: string;
  readonly kind: InboxItem['kind'];
  readonly name: string;
  readonly body: TextRef;
}

export interface LetterMessage {
  readonly client: string;
  readonly key: string;
  readonly item: ItemMessage;
  readonly expiresAt: number;
}

export interface TouchMessage {
  readonly id: string;
  readonly worker: string | null;
  readonly seenAt: number | null;
  readonly silentAt: number;
}

export interface ChangeMessage {
  readonly id: string;
  readonly client: string;
  /** The version that was decided on; 0 for a new job. */
  readonly decidedOn: number;
  /** The final status, where the change ends the job. */
  readonly ends: FinalStatus | null;
  /** What ended it is a deadline. */
  readonly timedOut: boolean;
  readonly held: number;
  readonly hasLease: boolean;
  readonly isFannedOut: boolean;
  readonly entered: boolean;
  /** Null: it stays as it is. */
  readonly job: JobMessage | null;
  /** Of a new job, else null. */
  readonly unchanging: UnchangingMessage | null;
  readonly timers: TimersMessage | 'keep';
  readonly leaseUntil: number | 'keep';
  readonly need: NeedMessage;
  /** Bits of `beside`: what this change puts into other tables, as far as it is known before. */
  readonly beside: number;
  /** The key of a share that the job waits for. */
  readonly waitKey: string | null;
  readonly tasks: readonly TaskMessage[];
  readonly book: BookMessage;
  readonly reservations: readonly ReservationMessage[];
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | null;
  readonly also: AlsoMessage | null;
}

/** The job as it stands after the change: the parameters of the statement that will store it. */
export interface JobMessage {
  readonly row: readonly (string | number | null)[];
  /** The last two of them. */
  readonly rest: TextRef;
  readonly data: TextRef;
}

export interface UnchangingMessage {
  readonly correlation: string;
  readonly input: TextRef;
  readonly fixed: TextRef;
  readonly attributes: readonly { readonly name: string; readonly value: TextRef }[];
}

/** What the job would have to have in order to go on, as its wait says. */
export type NeedMessage =
  | 'nothing'
  | 'handler'
  | 'wake'
  | 'branches'
  | 'signals'
  | { readonly task: string }
  | { readonly child: string };

export interface AlsoMessage {
  readonly rearm: Deadlines;
  readonly disarm: readonly TimerName[];
  readonly releases: readonly string[];
  readonly settles: readonly { readonly key: string; readonly amount: number }[];
  readonly awaits: ShareWish | null;
  readonly fired: FiredDeadline | null;
  readonly signalId: string | null;
  readonly posts: readonly PostMessage[];
  readonly takes: readonly string[];
  readonly looks: boolean;
  readonly keys: readonly string[];
  readonly emits: readonly EmitMessage[];
  readonly children: readonly ChangeMessage[];
}

export interface EmitMessage {
  readonly id: string;
  readonly number: number;
  readonly exchange: string;
  readonly name: string;
  readonly payload: TextRef;
  readonly client: string;
  readonly correlationId: string;
  readonly trace: string | null;
}

export interface PostMessage {
  readonly jobId: string;
  readonly item: ItemMessage;
  readonly expiresAt: number | null;
}

export interface TimersMessage {
  readonly text: string;
  readonly dueAt: number | null;
}

export type TaskMessage =
  | {
      readonly type: 'start';
      readonly taskId: string;
      readonly classKey: string;
      readonly classText: string;
      readonly rank: number;
      readonly bound: number;
      readonly executionLimitMs: number;
      readonly deadlines: Deadlines;
      readonly spec: TextRef;
    }
  | {
      readonly type: 'requeue';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly failures: number;
      readonly lostRuns: number;
      readonly deadlines: Deadlines;
    }
  | {
      readonly type: 'end';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly status: TaskEnd;
    }
  | {
      readonly type: 'collect';
      readonly taskId: string;
      readonly attempt: string | null;
      readonly from: TaskStatus;
      readonly name: string;
      readonly body: TextRef;
    }
  | { readonly type: 'cancel_all' };

export interface BookMessage {
  readonly count: number;
  /** A JSON list. */
  readonly entries: TextRef;
  readonly lost: number;
}

export interface ReservationMessage {
  readonly key: string;
  readonly amount: number;
  readonly limit: number;
  readonly expiresAt: number | null;
  readonly untilWait: number;
}

export interface ClaimMessage {
  readonly worker: string;
  readonly incarnation: string;
  readonly lanes: readonly (readonly string[])[];
  readonly max: number;
  readonly maxSuspects: number;
  readonly attemptIds: readonly string[];
  readonly choice: Choice;
}

export type ChangeAnswer =
  | {
      readonly type: 'done';
      readonly cancelled: readonly { readonly worker: string; readonly attempt: string }[];
      /** Where it stayed as it is, and is another than the change was decided on. */
      readonly job?: TextRef;
    }
  | {
      readonly type:
        | 'stale'
        | 'exists'
        | 'conflict'
        | 'seen'
        | 'not_due'
        | 'not_due'
        | 'inbox_full'
        | 'no_cause';
    }
  | { readonly type: 'duplicate'; readonly jobId: string }
  | { readonly type: 'limit'; readonly key: string; readonly retryAfterMs: number | null };

export interface ClaimedTask {
  readonly id: string;
  readonly jobId: string;
  readonly status: TaskStatus;
  readonly attempts: number;
  readonly attempt: string;
  readonly failures: number;
  readonly lostRuns: number;
  readonly resultAt: number | null;
  readonly spec: TextRef;
}

export interface ClaimAnswer {
  readonly tasks: readonly ClaimedTask[];
  readonly drained: readonly string[];
  readonly cut?: true;
}

export interface CommitAnswer {
  readonly changes: readonly ChangeAnswer[];
  readonly claims: readonly ClaimAnswer[];
  readonly letters: readonly (readonly string[])[];
}

/** What each operation is answered with. */
export type Answer =
  | CommitAnswer
  | Forgotten
  | readonly string[]
  | string
  | number
  | boolean
  | null;

/** An answer, and what the references in it mean. */
export interface Done {
  readonly type: 'done';
  readonly answer: Answer;
  readonly texts: readonly string[];
}

export type Reply =
  | Done
  | { readonly type: 'outage'; readonly why: string }
  | { readonly type: 'bug'; readonly message: string; readonly stack: string };

/** From the writer: `ready` once, then the replies of one transaction, in the order of asking. */
export type FromWriter = 'ready' | Parcel;
