import type { JsonObject, JsonValue } from '../std/json.ts';
import type { Emission } from './emit.ts';
import type { Requirements } from './requirements.ts';
import type { RetryPolicy } from './retry.ts';
import type { JobStatus, TaskStatus } from './status.ts';
import type { StrategyName } from './strategy.ts';

/** One instance of a blueprint, as the stores keep it. Instants are ms since 1970 UTC. */
export interface Job {
  readonly id: string;
  /** Raised by one with each commit; a decision made on an older one is refused as stale. */
  readonly version: number;
  readonly blueprint: string;
  /** Pinned for life (S-15): a job goes on with the version it started with. */
  readonly blueprintVersion: number;
  readonly client: string;
  readonly status: JobStatus;
  readonly state: string;
  /** How many times a state was entered; (job, entry) names one stay in a state. */
  readonly entry: number;
  /** Transitions since the last wait: the loop guard. */
  readonly hops: number;
  /** Events that it has emitted: the last one's number. */
  readonly emitted: number;
  /** Failures of the present state's handler in this entry. */
  readonly failures: number;
  /** Set by an operator: no handler is claimed and no task handed out, deadlines go on. */
  readonly held: boolean;
  readonly wait: Wait | null;
  /** Who runs the present state's `run` handler; null while none runs. The store keeps its end. */
  readonly lease: Lease | null;
  /** Where a quarantined job takes up again when it is redriven. */
  readonly resume: Resume | null;
  readonly input: JsonValue;
  readonly data: JsonObject;
  readonly options: JobOptions;
  /** Links every event, log line and message of the job. */
  readonly correlationId: string;
  /** W3C traceparent of the creating request. */
  readonly trace: string | null;
  readonly result: JsonValue | null;
  readonly error: JobError | null;
  /** What a fan-out brought, by task id; from its end until the aggregator's state is left. */
  readonly results: Readonly<Record<string, BranchResult>> | null;
  /** The answer that ended the last wait, or the signal that a row is about. */
  readonly answer: Answer | null;
  /** Signals lie in the inbox that no wait has taken so far. */
  readonly unread: boolean;
  /** The decisions given last, so that the same one again is recognised as such. */
  readonly decided: readonly Decided[];
  /** The job that started this one and waits for its end. Pinned for life. */
  readonly parent: Parent | null;
  readonly createdAt: number;
  /** When the present state was entered. */
  readonly enteredAt: number;
  readonly endedAt: number | null;
}

export interface JobOptions {
  readonly priority: number;
  readonly attributes: JsonObject;
  readonly metadata: JsonObject;
  readonly dispatchTimeoutMs: number | null;
  readonly resultTimeoutMs: number | null;
  /** At most `limit` open jobs of one key; null: no limit. */
  readonly concurrency: Concurrency | null;
}

export interface Concurrency {
  readonly key: string;
  readonly limit: number;
  /** Where the key is full: wait for a free place, start no job, or refuse. */
  readonly onBusy: 'queue' | 'skip' | 'refuse';
}

export interface Parent {
  readonly jobId: string;
  /** Ancestors above the job: what starts children without end is stopped by it. */
  readonly depth: number;
}

export interface BranchResult {
  /** Place in the list of the fan-out. */
  readonly index: number;
  readonly skill: string;
  /** What the worker reported; `success` where it named none, `timeout` or `error` where none came. */
  readonly status: string;
  readonly data: JsonValue;
  readonly error: JobError | null;
}

export interface Answer {
  readonly name: string;
  readonly data: JsonValue;
}

export interface Decided {
  readonly wait: string;
  readonly decision: string;
}

export interface JobError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonValue;
}

/** The token fences: what a run returns under an older one is refused. */
export interface Lease {
  readonly token: string;
  readonly instance: string;
}

/**
 * What a job waits for: who may answer, and which answer leads where. `on` maps the answers of the
 * wait itself; `signals` maps signals by name, besides the rows of the state.
 */
export type Wait = TaskWait | ParallelWait | ApprovalWait | ChildWait | EventWait | TimerWait;
type Targets = Readonly<Record<string, string>>;

export interface TaskWait {
  readonly type: 'task';
  readonly taskId: string;
  readonly on: Targets;
}

/** All branches of a fan-out, then the aggregator `to`, once. */
export interface ParallelWait {
  readonly type: 'parallel';
  readonly to: string;
  readonly count: number;
}

/** A person, or whoever speaks for one. */
export interface ApprovalWait {
  readonly type: 'approval';
  readonly id: string;
  readonly message: string;
  /** What was shown beside the message; null: nothing. */
  readonly show: JsonValue;
  /** Of message and content. A decision names it where content is shown. */
  readonly hash: string;
  /** A name of the content that may stand for the hash (a plan's id). */
  readonly revision: string | null;
  readonly escalated: boolean;
  readonly on: Targets;
  readonly signals: Targets;
}

export interface ChildWait {
  readonly type: 'child';
  readonly jobId: string;
  readonly on: Targets;
}

/** Any of several named signals. */
export interface EventWait {
  readonly type: 'event';
  readonly on: Targets;
  readonly signals: Targets;
  readonly silence: {
    readonly afterMs: number;
    readonly resetBy: readonly string[] | 'any' | 'mapped';
  } | null;
  readonly poll: {
    readonly everyMs: number;
    readonly enter: string | null;
    readonly emit: Emission | null;
  } | null;
  /** Brings the signals: while it is down, silence means nothing (S-69). */
  readonly subscription: string | null;
}

/**
 * `to: null` runs the present state's handler again (a retry, or a delayed start). With a `key` it
 * ends as soon as a place under that key is free, and the timer is only a safety net.
 */
export interface TimerWait {
  readonly type: 'timer';
  readonly to: string | null;
  readonly key?: string;
}

export type Resume =
  | { readonly type: 'handler'; readonly state?: string }
  | {
      readonly type: 'task';
      readonly taskId: string;
      readonly on: Targets;
      readonly spec: TaskSpec;
      readonly state?: string;
    }
  /** The branches that were given up; the others go on and are collected meanwhile. */
  | {
      readonly type: 'parallel';
      readonly wait: ParallelWait;
      readonly parked: readonly { readonly taskId: string; readonly spec: TaskSpec }[];
      readonly state?: string;
    };

/** The unchanging part of a task. */
export interface TaskSpec {
  readonly client: string;
  readonly skill: string;
  readonly params: JsonObject;
  readonly requirements: Requirements;
  readonly strategy: StrategyName;
  readonly maxCost: number | null;
  /** The blackout in which it is not handed out. */
  readonly notDuring?: string;
  readonly priority: number;
  readonly dispatchTimeoutMs: number | null;
  readonly resultTimeoutMs: number | null;
  readonly executionLimitMs: number;
  readonly retry: RetryPolicy;
  readonly metadata: JsonObject | null;
  readonly correlationId: string;
  readonly trace: string | null;
  /** The place that it holds under a concurrency key. */
  readonly share?: { readonly key: string; readonly limit: number };
  /** Of a task of a fan-out: its place in the list, and what its answers lead to. */
  readonly branch?: { readonly index: number; readonly on: Targets };
}

/** One unit of work for a worker. Rows exist only while the task is open. */
export interface Task {
  readonly id: string;
  readonly jobId: string;
  readonly spec: TaskSpec;
  readonly status: TaskStatus;
  /** Hand-outs so far, the current one included. */
  readonly attempts: number;
  /** The current hand-out; its id is the fencing token. */
  readonly attempt: Attempt | null;
  /** Runs that ended in a reported transient error. */
  readonly failures: number;
  /** Runs that ended without a report although they may have begun. Above zero: a suspect. */
  readonly lostRuns: number;
  /** Absolute deadline of the result, for the worker to see. */
  readonly resultAt: number | null;
}

export interface Attempt {
  readonly id: string;
  readonly number: number;
  readonly worker: string;
  /** The worker's registration that holds it. */
  readonly incarnation: string;
  readonly assignedAt: number;
}
