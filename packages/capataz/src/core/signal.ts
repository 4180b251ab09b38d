import type { JsonValue } from '../std/json.ts';
import type { Action } from './action.ts';
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
  | OrphanedSignal;

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
 */
export type ReturnCause = 'not_delivered' | 'not_started' | 'handed_back' | 'lost';

/** A deadline of the job (`task` null) or of one of its tasks is due. */
export interface DeadlineSignal {
  readonly type: 'deadline';
  readonly name: TimerName;
  readonly task: Task | null;
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
 * back-off is over. `dispatch`, `result`, `execution`: the task's deadlines.
 */
export type TimerName = 'wake' | 'ready' | 'dispatch' | 'result' | 'execution';

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
} as const;
export type RefusalReason = keyof typeof refusalReasons;
