import type { JsonObject, JsonValue } from '../std/json.ts';

/** The client's wire, `/api/v1/…`. Instants are ISO 8601 in UTC, timeouts seconds (fractions too). */
export interface StartJobBody {
  readonly initial_data?: JsonValue;
  /** A UUID of the caller's own making; default: a new one, version 7. */
  readonly job_id?: string;
  /** Longest time of a task in the queue, in seconds. Default none. */
  readonly dispatch_timeout?: number;
  /** Longest time from dispatch to result, in seconds. Default none. */
  readonly result_timeout?: number;
  /** −1000 to 1000, higher first. Default 0. */
  readonly priority?: number;
  /** Searchable. */
  readonly attributes?: JsonObject;
  /** Seconds before the job begins. Default 0. */
  readonly start_delay?: number;
  /** Passed through to handlers. */
  readonly metadata?: JsonObject;
  /** Default: as the blueprint says. */
  readonly concurrency?: ConcurrencyBody;
}

/** At most `limit` open jobs of one key. */
export interface ConcurrencyBody {
  readonly key: string;
  readonly limit: number;
  /** Where the key is full: wait for a place (default), start no job (409 SKIPPED), or refuse (429 LIMIT). */
  readonly on_busy?: 'queue' | 'skip' | 'refuse';
}

/** Up to 1,000 at once: `POST /api/v1/jobs/{blueprint}/batch`. */
export type StartJobsBody = readonly StartJobBody[];

/** The answers to a batch, in the order of the request. */
export type StartJobsAnswer = readonly BatchJobAnswer[];

export interface CancelBody {
  /** Stands in the job's book. */
  readonly reason?: string;
}

export interface DismissBody {
  /** Stands in the job's book. */
  readonly reason?: string;
}

export interface StartJobAnswer {
  readonly status: 'accepted';
  readonly job_id: string;
}

/** One member of the answer to a batch, in the order of the request. */
export type BatchJobAnswer =
  | StartJobAnswer
  | {
      readonly status: 'refused';
      readonly code: string;
      readonly error: string;
      readonly details?: JsonObject;
    };

export interface JobView {
  readonly id: string;
  readonly blueprint: string;
  readonly blueprint_version: number;
  readonly client: string;
  readonly status: string;
  readonly state: string;
  readonly held: boolean;
  readonly priority: number;
  readonly input: JsonValue;
  readonly data: JsonObject;
  readonly result: JsonValue | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: JsonValue;
  } | null;
  /** What it waits for; null while it runs and when it has ended. */
  readonly wait: WaitView | null;
  /** The signal, decision or end of a child that it heard last. */
  readonly answer: { readonly name: string; readonly data: JsonValue } | null;
  /** What a fan-out brought, by task; null also where that is more than 64 Ki characters. */
  readonly results: Readonly<Record<string, BranchResultView>> | null;
  /** Of a quarantined job: where a redrive takes it up again. */
  readonly resume: {
    readonly type: 'handler' | 'task' | 'parallel';
    readonly state: string;
  } | null;
  /** The job that started it and waits for its end. */
  readonly parent: string | null;
  readonly concurrency: Required<ConcurrencyBody> | null;
  readonly attributes: JsonObject;
  readonly metadata: JsonObject;
  readonly correlation_id: string;
  /** The last progress that the job's worker reported, while it runs. */
  readonly progress: { readonly fraction: number | null; readonly message: string | null } | null;
  readonly created_at: string;
  readonly entered_at: string;
  readonly ended_at: string | null;
}

export type WaitView =
  | { readonly type: 'task'; readonly task_id: string }
  | { readonly type: 'parallel'; readonly count: number; readonly to: string }
  | ApprovalWaitView
  | { readonly type: 'child'; readonly job_id: string }
  /** Signals that its state names itself are not listed. */
  | { readonly type: 'event'; readonly signals: readonly string[] }
  /** A sleep, a retry or a late start; with a key it waits for a place under that. */
  | { readonly type: 'timer'; readonly key: string | null };

export interface ApprovalWaitView {
  readonly type: 'approval';
  readonly id: string;
  readonly message: string;
  readonly show: JsonValue;
  readonly hash: string;
  readonly revision: string | null;
  readonly escalated: boolean;
  readonly decisions: readonly string[];
  readonly signals: readonly string[];
}

export interface BranchResultView {
  readonly index: number;
  readonly skill: string;
  readonly status: string;
  readonly data: JsonValue;
  readonly error: JobView['error'];
}

export interface JobsAnswer {
  readonly jobs: readonly JobView[];
  /** Give it as `before` for the next page; null at the end. */
  readonly next: string | null;
}

export interface HistoryAnswer {
  readonly history: readonly HistoryView[];
  /** Give it as `after` for the next page; null at the end of what is stored. */
  readonly next: number | null;
}

/** An entry of a job's book. */
export interface HistoryView {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  /** The job's: what it was started with links all that follows. */
  readonly correlation_id: string;
  readonly [field: string]: JsonValue;
}

/** What a job's event stream says between entries: an event named `progress`, which has no id. */
export interface ProgressView {
  readonly fraction: number | null;
  readonly message: string | null;
}

/** An entry in the event stream over all jobs of a client; the event's id is its position. */
export interface JobEventView {
  readonly job_id: string;
  readonly entry: HistoryView;
}

export interface BlueprintsAnswer {
  readonly blueprints: readonly BlueprintView[];
}

export interface WorkersAnswer {
  readonly workers: readonly WorkerView[];
}

export interface DrainAnswer {
  readonly status: 'draining';
}

export interface CancelDrainAnswer {
  readonly status: 'ready' | 'busy';
}

export interface WorkerView {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly skills: readonly string[];
  readonly hot_skills: readonly string[];
  readonly slots: number | null;
  /** Attempts that it holds. */
  readonly load: number;
  /**
   * `open`: it kept losing tasks and gets none for a while. `half_open`: it gets one at a time, until
   * three have come back.
   */
  readonly circuit: 'closed' | 'half_open' | 'open';
  readonly hostname: string | null;
  readonly registered_at: string;
  readonly last_seen_at: string;
}

export interface BlueprintView {
  readonly name: string;
  readonly version: number;
  readonly start: string;
  readonly states: readonly {
    readonly name: string;
    readonly to: readonly string[];
    readonly end: string | null;
  }[];
}

/** Why a job is where it is, in words, and for waiting tasks why each worker does not take them. */
export interface WhyView {
  readonly job_id: string;
  readonly status: string;
  readonly state: string;
  readonly summary: string;
  readonly deadlines: readonly { readonly name: string; readonly at: string }[];
  readonly task: {
    readonly id: string;
    readonly skill: string;
    readonly status: string;
    readonly worker: string | null;
    readonly workers: readonly WorkerVerdict[];
  } | null;
  /** Of a fan-out: its open tasks, those of the same skill and needs together. At most 20. */
  readonly tasks: readonly WhyTasks[];
  /** The child that it waits for. */
  readonly child: {
    readonly id: string;
    readonly status: string;
    readonly state: string;
    readonly summary: string;
  } | null;
  /** Names of the signals that the job takes now. */
  readonly signals: readonly string[];
}

export interface WhyTasks {
  readonly skill: string;
  /** How many no worker holds. */
  readonly pending: number;
  /** How many a worker holds. */
  readonly running: number;
  readonly holders: readonly string[];
  /** Why each worker does not take those that are pending. */
  readonly workers: readonly WorkerVerdict[];
}

export interface WorkerVerdict {
  readonly id: string;
  readonly verdict: string;
}
