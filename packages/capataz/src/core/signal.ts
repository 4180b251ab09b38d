import type { JsonValue } from '../std/json.ts';
import type { Action } from './any-action.ts';
import type { Emission } from './emit.ts';
import type { Job, Lease, Task } from './job.ts';

/** Everything that can happen to a job. Each meets every status in `reactions` (decide.ts). */
export type Signal =
  | CreatedSignal
  | ClaimedSignal
  | HandledSignal
  | HandlerFailedSignal
  | HandlerLostSignal
  | ReportedSignal
  | ReturnedSignal
  | DeadlineSignal
  | CancelSignal
  | HoldSignal
  | ReleaseSignal
  | RedriveSignal
  | DismissSignal
  | OrphanedSignal
  | StrandedSignal
  | OutsideSignal
  | DecidedSignal
  | InboxSignal;

export type SignalType = Signal['type'];

/** The job was just built from a request. */
export interface CreatedSignal {
  readonly type: 'created';
  readonly startDelayMs: number;
}

/** An instance takes the runnable `run` handler of the present state. */
export interface ClaimedSignal {
  readonly type: 'claimed';
  readonly lease: Lease;
  readonly forMs: number;
}

/** A `run` handler returned. `data` is its draft as it stands after the run. */
export interface HandledSignal {
  readonly type: 'handled';
  readonly token: string;
  readonly action: Action | undefined;
  readonly data: Job['data'];
  /** What it emitted. Default nothing. */
  readonly emissions?: readonly Emission[];
}

export interface HandlerFailedSignal {
  readonly type: 'handler_failed';
  readonly token: string;
  readonly error: HandlerError;
}

/** The lease of a `run` handler ran out: it hangs, or its instance died. */
export interface HandlerLostSignal {
  readonly type: 'handler_lost';
  readonly token: string;
}

/** A worker's report on an attempt. `task` is null where the task is no longer open. */
export interface ReportedSignal {
  readonly type: 'reported';
  readonly task: Task | null;
  readonly attempt: string;
  readonly worker: string;
  readonly report: Report;
}

/** An attempt ended without a report. */
export interface ReturnedSignal {
  readonly type: 'returned';
  readonly task: Task | null;
  readonly attempt: string;
  readonly cause: ReturnCause;
}

/**
 * `not_delivered`: the reply was not flushed. `not_started`: it came back before it could have
 * begun. `handed_back`: the worker gave it up while running. `lost`: silence, or a new incarnation.
 * `stuck`: no sign of work for too long after the hand-out, though the worker lives.
 */
export type ReturnCause = 'not_delivered' | 'not_started' | 'handed_back' | 'lost' | 'stuck';

/** A deadline of the job (`task` null) or of one of its tasks is due. */
export interface DeadlineSignal {
  readonly type: 'deadline';
  readonly name: TimerName;
  readonly task: Task | null;
  /** When it was due: another deadline of this name is another deadline. */
  readonly at?: number;
}

export interface CancelSignal {
  readonly type: 'cancel';
  readonly actor: string;
  readonly reason: string;
}

export interface HoldSignal {
  readonly type: 'hold';
  readonly actor: string;
}

export interface ReleaseSignal {
  readonly type: 'release';
  readonly actor: string;
}

export interface RedriveSignal {
  readonly type: 'redrive';
  readonly actor: string;
}

/** An operator gives a quarantined job up: it ends as failed, with the error that parked it. */
export interface DismissSignal {
  readonly type: 'dismiss';
  readonly actor: string;
  readonly reason: string;
}

/** The job was found without a cause of progress: the store was damaged from outside. */
export interface StrandedSignal {
  readonly type: 'stranded';
  readonly problem: string;
}

/** A named signal from outside. */
export interface OutsideSignal {
  readonly type: 'outside';
  readonly name: string;
  /** The sender's own; the same one again changes nothing. */
  readonly id: string;
  readonly data: JsonValue;
  readonly actor: string;
}

/** A person has decided. */
export interface DecidedSignal {
  readonly type: 'decided';
  readonly decision: string;
  /** The wait that was decided on; null: whichever is open. */
  readonly wait: string | null;
  /** Of what was shown. */
  readonly hash: string | null;
  readonly revision: string | null;
  readonly actor: string;
  readonly comment: string | null;
  readonly data: JsonValue;
}

/** Something lies in the job's inbox and may be looked at now. */
export interface InboxSignal {
  readonly type: 'inbox';
  readonly items: readonly InboxItem[];
  /** The instant of the alarm that asked; null: a signal that came later asks, and the alarm stays. */
  readonly at: number | null;
}

/**
 * What other jobs, branches and early senders leave for a job without touching it.
 * - `branch`: a task of the fan-out has ended. `body` is a BranchResult, `id` the task's.
 * - `child`: a child has ended or is quarantined. `id` is the child's, `name` how it ended.
 * - `signal`: came before its wait.
 * - `cancel`: the parent waits no more.
 */
export interface InboxItem {
  readonly id: string;
  readonly kind: 'branch' | 'child' | 'signal' | 'cancel';
  readonly name: string;
  readonly body: JsonValue;
}

/** No live instance has offered the job's blueprint version for too long. */
export interface OrphanedSignal {
  readonly type: 'orphaned';
}

export interface Report {
  readonly status?: string;
  readonly data?: JsonValue;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details?: JsonValue;
  };
}

export interface HandlerError {
  readonly message: string;
  readonly stack?: string;
  /** From `retry({ class, after })`. */
  readonly class?: string;
  readonly afterMs?: number;
}

/**
 * `wake`: the end of a sleep, a retry wait or a start delay (job). `ready`: a planned delay or a
 * back-off is over. `dispatch`, `result`, `execution`: the task's deadlines. `deadline`, `silence`,
 * `poll`, `escalate`: those of a wait. `inbox`: something lies there for the job to look at.
 */
export type TimerName =
  | 'wake'
  | 'ready'
  | 'dispatch'
  | 'result'
  | 'execution'
  | 'deadline'
  | 'silence'
  | 'poll'
  | 'escalate'
  | 'inbox';

/** A deadline as `decide` sets it: a duration. The store adds its own now (S-3). */
export interface Timer {
  readonly name: TimerName;
  readonly afterMs: number;
}

/** Why a signal changes nothing. The first six are RXON's own `ignored` reasons. */
export const refusalReasons = {
  deadline_exceeded: 'The attempt ended at its deadline.',
  job_cancelled: 'The job was cancelled.',
  job_not_found: 'There is no such job.',
  worker_mismatch: 'The attempt was handed to another worker.',
  stale_task: 'The attempt is not current any more.',
  job_already_terminated: 'The job has ended.',
  job_exists: 'The job is there already.',
  not_runnable: 'No handler of the job is waiting to be run.',
  lease_not_current: 'The handler run was given up: another holds the job, or it has moved on.',
  nothing_due: 'The deadline was disarmed meanwhile.',
  already_held: 'The job is held already.',
  not_held: 'The job is not held.',
  not_quarantined: 'The job is not quarantined.',
  already_quarantined: 'The job is quarantined already.',
  signal_not_expected: 'The job does not wait for this signal.',
  signal_seen: 'A signal with this id was taken already.',
  row_failed: 'The row of this signal threw; the job waits on.',
  row_refused: 'The row of this signal refuses it; the job waits on.',
  row_full: 'The row of this signal needs a place under a key that is full; the job waits on.',
  too_many_early: 'Too many early signals lie in the inbox of the job.',
  nothing_to_decide: 'The job waits for no decision.',
  decision_unknown: 'The wait knows no such decision.',
  hash_missing: 'what is shown must be named: send hash (or revision)',
  decision_outdated: 'The decision is about something else than what is shown now.',
  decided_already: 'This very decision was given already.',
} as const;
export type RefusalReason = keyof typeof refusalReasons;
