import type { Change } from '../core/change.ts';
import type { HistoryEntry, StoredEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import type { Phase } from '../core/phase.ts';
import type { TaskClass } from '../core/requirements.ts';
import type { InboxItem, TimerName } from '../core/signal.ts';
import type { JobStatus } from '../core/status.ts';
import type { Choice } from '../core/strategy.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { JsonValue } from '../std/json.ts';
import type { ArchivingStore, EventPage } from './book-contract.ts';
import type { DeadLetter, DeadLetterQuery, OutboxPage, OutboxVerdict } from './outbox-contract.ts';
import type { ScheduleChange, ScheduleOutcome, StoredSchedule } from './schedule-contract.ts';

export type * from './book-contract.ts';
export type * from './outbox-contract.ts';
export type * from './schedule-contract.ts';

/**
 * # The store
 *
 * The only place where anything is remembered. Each verb is atomic and durable when it resolves;
 * there is no transaction handle, no generic update and no connection in any signature. Every
 * refusal has a name. All stores pass one conformance suite (`testing/store-suite.ts`), the memory
 * store being the one to read first.
 *
 * **Time.** Durations come in, instants come out: the store adds its own now (S-3), which never
 * goes back, not even over a restart.
 *
 * **Hot and cold.** Open jobs and quarantined ones are hot, ended ones are immutable rows. Tasks
 * exist only while they are open. History is append-only.
 *
 * **Pinned.** What is given to a job for life (id, client, blueprint and version, input, options,
 * correlation id, trace, creation) is written once; a later change carries it as it was read.
 *
 * **Derived membership.** Two facts are kept by the store and by nobody else, so that no second
 * place says whether something is runnable:
 * - a job is *runnable* when its status is `pending` or `running`, it has no wait and no lease, and
 *   it is not held;
 * - a task is *queued* when it is PENDING, has no `ready` timer, and its job is not held.
 *
 * **Leases.** `job.lease` lives until its end, which `Change.leaseForMs` sets and `renewLeases`
 * moves. A lease that ran out shows up in `due` and stays in place until a change replaces it.
 */
export interface Store extends ArchivingStore {
  /** What this store can and can't do; the only legitimate reason for different behaviour. */
  readonly capabilities: Capabilities;

  /** The store's present instant, ms since 1970 UTC. */
  now(): Promise<number>;

  /**
   * Does a piece of work in one transaction, in the order changes, starts, notes, letters, claims. A
   * refused part harms none of the others, but what was decided on a version that a refused change
   * would have made is `stale`. What waits while a commit runs shares the next one; nothing waits for
   * company (S-4). Work that has nothing to do is taken only where the store could write at this moment.
   */
  commit(work: Work): Promise<WorkOutcome>;

  /** The job, hot or ended; null if there is none. */
  job(id: string): Promise<Job | null>;

  /** The open tasks of each of these jobs. */
  tasks(jobIds: readonly string[]): Promise<Task[]>;

  /** Jobs by descending id, that is newest first; ids that callers gave sort where they fall. */
  jobs(query: JobQuery): Promise<Job[]>;

  /** What lies in the inbox of an open or quarantined job and has not expired, in order of arrival. */
  inbox(jobId: string): Promise<InboxItem[]>;

  /** Which of these signals the job has taken, or let in; also after its end, until it is forgotten. */
  seen(jobId: string, ids: readonly string[]): Promise<string[]>;

  /** The open or quarantined jobs of a client that registered this correlation key. */
  addressed(client: string, key: string): Promise<string[]>;

  /** What the steps of the present stay in the state have given, by name (S-14). */
  memos(jobId: string): Promise<Readonly<Record<string, JsonValue>>>;

  /** Remembers what a step gave. @returns whether its lease is current: else nothing is stored. */
  saveMemo(memo: Memo): Promise<boolean>;

  /** Entries of one job with a sequence above `after`, ascending, at most `limit`. */
  history(jobId: string, after: number, limit: number): Promise<StoredEntry[]>;

  /**
   * Entries of all jobs behind a position, ascending, at most about `limit` entries: whole commits
   * only. Never skips what becomes visible later. Position 0 is the beginning.
   */
  events(after: number, limit: number): Promise<EventPage>;

  /** The position behind which `events` has nothing yet. */
  latestPosition(): Promise<number>;

  /** What is due at the store's now, earliest first, and when the next one will be. */
  due(limit: number): Promise<DuePage>;

  /** Ids of runnable jobs of these blueprint versions, oldest first. */
  runnable(offered: readonly BlueprintId[], limit: number): Promise<string[]>;

  /** Moves the end of leases that are still current. @returns the tokens that no longer are. */
  renewLeases(leases: readonly LeaseRenewal[]): Promise<string[]>;

  /** The classes in which tasks are queued. */
  queuedClasses(): Promise<TaskClass[]>;

  /** The open tasks whose current attempt a worker holds, in order of hand-out. */
  heldBy(worker: string): Promise<Task[]>;

  /** How many attempts each worker holds that holds any. */
  loads(): Promise<ReadonlyMap<string, number>>;

  /** Stores a worker as it registered, with the end of its silence. */
  saveWorker(worker: WorkerRecord, silentAfterMs: number): Promise<void>;

  /** Moves ends of silence, later or earlier; unknown ids are passed over. */
  touchWorkers(touches: readonly WorkerTouch[]): Promise<void>;

  /** By ascending id: all, or those of these that are there. */
  workers(ids?: readonly string[]): Promise<StoredWorker[]>;

  /** Forgets a worker, unless it has registered anew. What it held stays where it is. */
  removeWorker(id: string, incarnation: string): Promise<void>;

  /**
   * Records that this instance offers a blueprint version now. @returns the graph text under which
   * that version was first recorded, which is kept.
   */
  offerBlueprint(offer: BlueprintOffer): Promise<string>;

  /** Jobs that are open and whose blueprint version was last offered more than `olderThanMs` ago, or never. */
  orphans(offered: readonly BlueprintId[], olderThanMs: number, limit: number): Promise<string[]>;

  /**
   * Events that may be published now, oldest first: of each job only the first that is not published
   * yet, so that a job's events keep their order. A store of several instances holds them back from the
   * others for `holdMs`, and for as long again when they are asked for again.
   */
  outbox(limit: number, holdMs: number): Promise<OutboxPage>;

  /** What became of events that were published, or tried: all in one commit. */
  settleOutbox(verdicts: readonly OutboxVerdict[]): Promise<void>;

  /** Dead letters, oldest first. */
  deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]>;

  /** Back into the outbox, with its tries counted anew. @returns those that were there and unresolved. */
  redriveLetters(ids: readonly string[]): Promise<string[]>;

  /** An operator is done with them. @returns those that were there and unresolved. */
  resolveLetters(ids: readonly string[], by: string, notes: string): Promise<string[]>;

  /**
   * Forgets dead letters that were resolved more than `olderThanMs` ago, at most `limit`. Unresolved
   * ones are never touched. @returns how many.
   */
  forgetLetters(olderThanMs: number, limit: number): Promise<number>;

  /** What is remembered of schedules, by ascending name: all, or those of these that are there. */
  schedules(names?: readonly string[]): Promise<StoredSchedule[]>;

  /**
   * Remembers what was done about a schedule, or that it is paused, and makes its row where there is
   * none. Of several that read the same `handled` and move it on, one is `done`.
   */
  keepSchedule(name: string, change: ScheduleChange): Promise<ScheduleOutcome>;

  /**
   * Attempts that have been ASSIGNED, or SCHEDULED, for longer than this without a sign of work, the
   * oldest first.
   */
  stuck(query: StuckQuery): Promise<StuckAttempt[]>;

  /** Gauges from stored truth: open jobs and tasks by status, ended jobs by status. */
  counts(): Promise<Counts>;

  /** Hot jobs with what could make each move: a slice by ascending id, or one of them. */
  causes(of: CausesQuery): Promise<JobCauses[]>;

  /**
   * Forgets ended jobs for good, the earliest end first: record, input and book, and takes them out
   * of `counts`. Open and quarantined jobs are never touched. An idempotency key keeps its 24 h: a
   * repeat is answered `duplicate` although the job is gone. Keys that have run out go as well, of
   * whatever job.
   *
   * A call does a bounded piece of work, however large the jobs are. Where a book alone is more than
   * that, it goes piece by piece from its beginning, and the job with the last of them.
   */
  forgetEnded(what: Forget): Promise<Forgotten>;

  /**
   * Called once, when an instance starts. Workers whose silence has ended get `graceMs` from now: nobody
   * can have listened since, or they would be gone (S-37). A store that serves one instance also ends all
   * leases, so that they are due (S-43); elsewhere they may be another's, and run out.
   */
  takeOver(graceMs: number): Promise<void>;

  /**
   * Calls the listener whenever another instance may have changed something: all truth is in the store,
   * and what was missed is told as `anything`, soon. Of a store that serves one instance there are no
   * news. @returns a function that ends it.
   */
  subscribe(listener: (news: News) => void): () => void;

  /** Rejects what is not begun, finishes what is, gives the store free. */
  close(): Promise<void>;
}

export interface Capabilities {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 'redis';
  /** Whether what was acknowledged survives the loss of power. */
  readonly durable: boolean;
  /** Whether several instances may work on it at once. */
  readonly shared: boolean;
}

export type News =
  | { readonly type: 'commit' }
  /** It registered, was told something, or is gone. */
  | { readonly type: 'worker'; readonly id: string }
  /** Messages may have been missed. */
  | { readonly type: 'anything' };

export interface Work {
  readonly changes?: readonly ChangeRequest[];
  readonly starts?: readonly StartMark[];
  readonly notes?: readonly Note[];
  readonly claims?: readonly Claim[];
  readonly letters?: readonly Letter[];
}

export interface WorkOutcome {
  /** The instant that this commit stamped. */
  readonly at: number;
  /** In the order of `Work.changes`. */
  readonly changes: readonly ChangeOutcome[];
  /** In the order of `Work.claims`. */
  readonly claims: readonly ClaimOutcome[];
  /** In the order of `Work.letters`: the jobs that got it; none where it is kept for later. */
  readonly letters: readonly (readonly string[])[];
}

/**
 * A signal to whoever has registered a correlation key: it is put into the inboxes of those jobs, or
 * kept until one registers. The same id comes into an inbox once.
 */
export interface Letter {
  readonly client: string;
  readonly key: string;
  readonly item: InboxItem;
  readonly keepForMs: number;
}

export interface Memo {
  readonly jobId: string;
  readonly token: string;
  readonly name: string;
  readonly value: JsonValue;
}

export interface ChangeRequest {
  readonly change: Change;
  /** For a new job only. */
  readonly idempotency?: IdempotencyKey;
}

/** Lives as long as its job, and at least 24 h. */
export interface IdempotencyKey {
  readonly key: string;
  readonly bodyHash: string;
}

export type ChangeOutcome =
  /** Stored. `job` is as it stands now; `cancelled` are the attempts that a `cancel_all` ended. */
  | { readonly type: 'done'; readonly job: Job; readonly cancelled: readonly HeldAttempt[] }
  /** The job's version or a task's current attempt is another one: read again and decide again. */
  | { readonly type: 'stale' }
  /** A new job's id is taken. */
  | { readonly type: 'exists' }
  /** The idempotency key was used for this job, with this body. */
  | { readonly type: 'duplicate'; readonly jobId: string }
  /** The idempotency key was used with another body. */
  | { readonly type: 'conflict' }
  /** A reservation exceeds its limit; `retryAfterMs` when the next share expires, if one does. */
  | { readonly type: 'limit'; readonly key: string; readonly retryAfterMs: number | null }
  /** The change's signal was taken already. */
  | { readonly type: 'seen' }
  /** The deadline that brought the change is not set any more, or to another instant. */
  | { readonly type: 'not_due' }
  /** Too many signals lie in the job's inbox. */
  | { readonly type: 'inbox_full' }
  /** The job would be neither ended nor parked nor have anything that moves it (S-6): a bug. */
  | { readonly type: 'no_cause' };

export interface HeldAttempt {
  readonly worker: string;
  readonly attempt: string;
}

/** The first sign of work on an attempt: ASSIGNED or SCHEDULED → RUNNING, once; else nothing. */
export interface StartMark {
  readonly jobId: string;
  readonly taskId: string;
  readonly attempt: string;
}

/** Entries for the book of a job, hot or ended, that change nothing else. */
export interface Note {
  readonly jobId: string;
  readonly entries: readonly HistoryEntry[];
}

/**
 * Hands queued tasks to a worker: lane by lane in turn, one from each until `max` is reached or all
 * are empty; within a lane the highest priority first, then the first arrival over all its classes.
 * The task becomes ASSIGNED (SCHEDULED if its requirements name a worker) under the next of
 * `attemptIds`; its `dispatch` deadline is dropped, and without a `result` deadline it gets
 * `execution` from now.
 *
 * Whoever asked has to take it in, so that a claim stops before `max` once its specs have about 8 Mi
 * characters, but always hands out one. All claims of a commit together stop at about 64 Mi; a claim
 * whose turn comes after that is `cut`.
 */
export interface Claim {
  readonly worker: string;
  readonly incarnation: string;
  /** One a client, in the order in which the clients are served: fair share. */
  readonly lanes: readonly (readonly string[])[];
  readonly max: number;
  /** How many suspects (tasks with `lostRuns` above zero) may be among them. */
  readonly maxSuspects: number;
  readonly attemptIds: readonly string[];
  /** Stored with each assignment. */
  readonly choice: Choice;
}

export interface ClaimOutcome {
  readonly tasks: readonly Task[];
  /** Class keys of the claim that have nothing queued any more. */
  readonly drained: readonly string[];
  /** The commit was full before it was this claim's turn: it got nothing, and is to be made again. */
  readonly cut?: true;
}

export interface JobQuery {
  readonly client?: string;
  readonly status?: readonly JobStatus[];
  readonly blueprint?: string;
  readonly state?: string;
  /** Jobs whose attributes have all of these values. */
  readonly attributes?: Readonly<Record<string, JsonValue>>;
  readonly correlationId?: string;
  /** Ids below this one: the last id of the page before. */
  readonly before?: string;
  readonly limit: number;
}

export interface DuePage {
  readonly due: readonly Due[];
  /** Ms from now until the next deadline that is not in `due`; null if there is none. */
  readonly nextInMs: number | null;
}

export type Due =
  | {
      readonly type: 'timer';
      readonly jobId: string;
      readonly taskId: string | null;
      readonly name: TimerName;
      readonly at: number;
    }
  | { readonly type: 'lease'; readonly jobId: string; readonly token: string; readonly at: number }
  | { readonly type: 'silence'; readonly worker: string; readonly at: number };

export interface LeaseRenewal {
  readonly jobId: string;
  readonly token: string;
  readonly forMs: number;
}

export interface BlueprintId {
  readonly name: string;
  readonly version: number;
}

export interface BlueprintOffer extends BlueprintId {
  readonly graph: string;
}

export interface WorkerTouch {
  readonly id: string;
  readonly silentAfterMs: number;
  /** It is no sign of life (a dropped connection): `lastSeenAt` stays. */
  readonly unseen?: boolean;
  /** The heartbeat's changes, if there are any. */
  readonly worker?: WorkerRecord;
}

export interface StoredWorker {
  readonly worker: WorkerRecord;
  readonly lastSeenAt: number;
  readonly silentAt: number;
}

export interface StuckQuery {
  readonly status: 'ASSIGNED' | 'SCHEDULED';
  readonly olderThanMs: number;
  readonly limit: number;
}

export interface StuckAttempt {
  readonly jobId: string;
  readonly taskId: string;
  readonly attempt: string;
}

export interface Counts {
  readonly jobs: Readonly<Partial<Record<JobStatus, number>>>;
  readonly tasks: Readonly<Partial<Record<Task['status'], number>>>;
  readonly queued: number;
  /** Events that are not published yet. */
  readonly outbox: number;
  /** Dead letters that nobody has resolved. */
  readonly deadLetters: number;
  /** History entries that could not be stored and left a marker in their place, ever (S-45). */
  readonly lostEntries: number;
  /** All jobs by phase (S-13). */
  readonly phases: Readonly<Partial<Record<Phase, PhaseCount>>>;
}

export interface PhaseCount {
  readonly jobs: number;
  /**
   * The earliest beginning among those that have not ended: the hand-out of its task, else when its
   * state was entered. Null where all have ended.
   */
  readonly oldestAt: number | null;
}

/**
 * A slice of ids behind `after`, or one job. In a slice the payloads are left out, since the check
 * needs none and a slice of them may be larger than the memory: the job's `input` is null and its
 * `data` {}, its tasks' `params` are {} and their `metadata` null.
 */
export type CausesQuery =
  | { readonly after: string; readonly limit: number }
  | { readonly id: string };

/** An ended job is forgotten for its age or for the number of those that ended after it. */
export interface Forget {
  /** Whatever ended longer ago than this; null: age is no reason. */
  readonly olderThanMs: number | null;
  /** Whatever is not among so many that ended last; null: their number is no reason. */
  readonly keepAtMost: number | null;
  /** Jobs in this call. */
  readonly limit: number;
}

export interface Forgotten {
  /** In the order of their ends. */
  readonly jobIds: readonly string[];
  /** There is more to forget now. */
  readonly more: boolean;
}

/** What the no-limbo check looks at; core/limbo.ts says which of it is enough. */
export interface JobCauses {
  readonly job: Job;
  readonly tasks: readonly Task[];
  readonly runnable: boolean;
  readonly leaseEndsAt: number | null;
  readonly timers: readonly {
    readonly taskId: string | null;
    readonly name: TimerName;
    readonly at: number;
  }[];
  /** Ids of its tasks that are in the queue. */
  readonly queued: readonly string[];
  /** Ids of its tasks whose worker is known, so that its silence ends them. */
  readonly watched: readonly string[];
  /** Of a job that waits for a child: whether that one is open or quarantined. */
  readonly childIsOpen: boolean;
}
