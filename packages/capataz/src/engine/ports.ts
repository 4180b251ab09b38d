import type { Blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Concurrency, Job, Task } from '../core/job.ts';
import type { DecidedSignal, RefusalReason, Report } from '../core/signal.ts';
import type { WorkerStatus } from '../core/status.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { WhyView } from '../protocol/client-api.ts';
import type { CapatazError } from '../protocol/errors.ts';
import type { ResultTransition } from '../protocol/worker-api.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import type {
  DeadLetter,
  DeadLetterQuery,
  EventPage,
  JobQuery,
  StoredWorker,
} from '../store/contract.ts';
import type { CircuitReading } from './circuits.ts';

/** What a client may do. Who it is and what it may see is settled before: `client` is trusted here. */
export interface JobsPort {
  /** In the order of the requests, in one commit. A refused one harms none of the others. */
  create(requests: readonly CreateJob[]): Promise<(CreatedJob | CapatazError)[]>;
  /** @throws JOB_NOT_FOUND, also for a job of another client: foreign and unknown look the same. */
  get(id: string, client: string | null): Promise<Job>;
  list(query: JobQuery): Promise<Job[]>;
  history(id: string, after: number, limit: number): Promise<StoredEntry[]>;
  /** @throws ALREADY_FINAL with the status in its details. */
  cancel(id: string, actor: string, reason: string): Promise<Job>;
  /** @throws NOT_QUARANTINED */
  redrive(id: string, actor: string): Promise<Job>;
  /** Gives a quarantined job up: it ends as failed. @throws NOT_QUARANTINED */
  dismiss(id: string, actor: string, reason: string): Promise<Job>;
  hold(id: string, actor: string): Promise<Job>;
  release(id: string, actor: string): Promise<Job>;
  why(id: string): Promise<WhyView>;
  progress(id: string): Progress | null;
}

/** What people and programs tell jobs. */
export interface SignalsPort {
  /** In order. Durable, or refused, when it resolves; the same id again is taken as before. */
  send(signals: readonly SentSignal[]): Promise<SignalAnswer[]>;
  /** `repeated`: this very decision was given before. @throws DECISION_REFUSED, JOB_NOT_FOUND */
  decide(
    jobId: string,
    decision: Decision,
  ): Promise<{ readonly job: Job; readonly repeated: boolean }>;
}

/** Events that nobody would take. */
export interface DeadLettersPort {
  list(query: DeadLetterQuery): Promise<DeadLetter[]>;
  /** Back to the bus. @returns those that were there, unresolved and this client's. */
  redrive(ids: readonly string[], client: string): Promise<string[]>;
  /** The client is done with them. @returns those that were there, unresolved and its own. */
  resolve(
    ids: readonly string[],
    options: { readonly client: string; readonly notes: string },
  ): Promise<string[]>;
}

export type OutsideAddress = { readonly jobId: string } | { readonly key: string };

export interface SentSignal {
  readonly client: string;
  readonly to: OutsideAddress;
  readonly name: string;
  readonly id: string;
  readonly data: JsonValue;
  readonly actor: string;
  /** To a key that nobody has registered: how long it is kept. Default 0: it is refused. */
  readonly keepForMs?: number;
}

export type SignalAnswer =
  | { readonly type: 'taken' | 'kept'; readonly jobIds: readonly string[] }
  | { readonly type: 'refused'; readonly error: CapatazError };

export type Decision = Omit<DecidedSignal, 'type'>;

export interface CreateJob {
  readonly blueprint: string;
  /** Default: the highest version that is registered. */
  readonly version?: number;
  readonly client: string;
  readonly input: JsonValue;
  readonly id?: string;
  readonly priority?: number;
  readonly attributes?: JsonObject;
  readonly metadata?: JsonObject;
  readonly dispatchTimeoutMs?: number;
  readonly resultTimeoutMs?: number;
  readonly startDelayMs?: number;
  /** Default: the blueprint's. */
  readonly concurrency?: Concurrency;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string };
  /** Default: the job's id. */
  readonly correlationId?: string;
  readonly trace?: string;
}

export interface CreatedJob {
  readonly id: string;
  /** False where the idempotency key names a job that was there already. */
  readonly created: boolean;
}

export interface Progress {
  readonly attempt: string;
  readonly fraction: number | null;
  readonly message: string | null;
}

/** What a worker may do. Who it is is settled before: `worker` is trusted here. */
export interface WorkersPort {
  register(
    worker: Omit<WorkerRecord, 'incarnation' | 'registeredAt' | 'status'>,
  ): Promise<WorkerRecord>;
  /** @throws WORKER_NOT_FOUND, upon which it registers again. @returns attempts that it should stop. */
  heartbeat(worker: string, beat: Heartbeat): Promise<readonly string[]>;
  /**
   * Waits for up to `max` tasks; [] after `timeoutMs` or when the signal aborts. Tasks that were
   * assigned and can't be delivered must be given to `undelivered`.
   * @throws WORKER_NOT_FOUND
   */
  poll(worker: string, options: PollOptions): Promise<readonly Task[]>;
  /** Whether it asked for the batched forms when it registered (S-40); null: it has not registered. */
  isBatch(worker: string): Promise<boolean | null>;
  /** The reply that carried these tasks was flushed. */
  delivered(worker: string, tasks: readonly Task[]): void;
  /** The reply that should have carried these tasks was cut before it was flushed. */
  undelivered(worker: string, tasks: readonly Task[]): Promise<void>;
  /** Answers in order; durable when it resolves. `want` further tasks come from the same commit. */
  report(worker: string, reports: readonly TaskReport[], want: number): Promise<ReportOutcome>;
  progress(worker: string, jobId: string, progress: Progress): Promise<void>;
  /** Whether it holds a current attempt of this job: that one, where one is named. */
  holds(worker: string, jobId: string, attempt?: string): Promise<boolean>;
  /** The last connection of a worker closed: evidence that shortens its silence to one heartbeat. */
  connectionDropped(worker: string): void;
  /**
   * No further tasks go to it; what it holds goes on.
   * @throws WORKER_NOT_FOUND, INVALID_WORKER_STATE_TRANSITION where it drains already.
   */
  drain(worker: string): Promise<void>;
  /**
   * It takes tasks again. @returns the status that it has now: READY or BUSY.
   * @throws WORKER_NOT_FOUND, INVALID_WORKER_STATE_TRANSITION where it does not drain.
   */
  cancelDrain(worker: string): Promise<WorkerStatus>;
  list(): Promise<readonly WorkerState[]>;
}

export interface Heartbeat {
  /** RXON's word: idle, busy, full, offline, draining. */
  readonly status?: string;
  readonly currentTasks?: readonly string[];
  readonly prefetched?: readonly string[];
  readonly skills?: readonly string[];
  readonly hotSkills?: readonly string[];
}

export interface PollOptions {
  readonly max: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface TaskReport {
  readonly jobId: string;
  readonly attempt: string;
  /** A report, or the words that the worker gives the task back. */
  readonly report: Report | { readonly handedBack: 'started' | 'not_started' };
}

export interface ReportOutcome {
  readonly answers: readonly ReportAnswer[];
  readonly tasks: readonly Task[];
}

export type ReportAnswer =
  | { readonly type: 'accepted'; readonly transition: ResultTransition }
  | { readonly type: 'ignored'; readonly reason: RefusalReason };

export interface WorkerState extends StoredWorker {
  readonly load: number;
  /** What its last heartbeat said that keeps tasks from it, whatever its load. */
  readonly closedBy: 'full' | 'offline' | null;
  /** Of this process: whether it is left alone because it kept losing tasks (S-36). */
  readonly circuit: CircuitReading;
}

/** What the book says, live. */
export interface EventsPort {
  /**
   * Calls back whenever a job's book or progress may have grown, null standing for any job's; read from
   * the store what is new.
   */
  subscribe(listener: (jobId: string | null) => void): () => void;
  /** Entries of all jobs behind a position. */
  read(after: number, limit: number): Promise<EventPage>;
}

export interface BlueprintsPort {
  list(): readonly Blueprint[];
  /** The named version, else the highest. @throws BLUEPRINT_NOT_FOUND */
  get(name: string, version?: number): Blueprint;
}

/** All of the engine that a server sees. */
export interface EnginePorts {
  readonly jobs: JobsPort;
  readonly signals: SignalsPort;
  readonly deadLetters: DeadLettersPort;
  readonly workers: WorkersPort;
  readonly events: EventsPort;
  readonly blueprints: BlueprintsPort;
  /** True between start and stop. */
  readonly ready: boolean;
  /** False while the store refuses writes: from a commit that it refused to the next it takes. */
  readonly healthy: boolean;
}
