import type { JsonObject, JsonValue } from '../std/json.ts';
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

/** What a job waits for: who may answer, and which answer leads where. */
export type Wait = TaskWait | TimerWait;

export interface TaskWait {
  readonly type: 'task';
  readonly taskId: string;
  readonly on: Readonly<Record<string, string>>;
}

/** `to: null` runs the present state's handler again (a retry, or a delayed start). */
export interface TimerWait {
  readonly type: 'timer';
  readonly to: string | null;
}

export type Resume =
  | { readonly type: 'handler' }
  | {
      readonly type: 'task';
      readonly taskId: string;
      readonly on: Readonly<Record<string, string>>;
      readonly spec: TaskSpec;
    };

/** The unchanging part of a task. */
export interface TaskSpec {
  readonly client: string;
  readonly skill: string;
  readonly params: JsonObject;
  readonly requirements: Requirements;
  readonly strategy: StrategyName;
  readonly maxCost: number | null;
  readonly priority: number;
  readonly dispatchTimeoutMs: number | null;
  readonly resultTimeoutMs: number | null;
  readonly executionLimitMs: number;
  readonly retry: RetryPolicy;
  readonly metadata: JsonObject | null;
  readonly correlationId: string;
  readonly trace: string | null;
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
