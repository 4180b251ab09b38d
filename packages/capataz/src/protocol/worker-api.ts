import type { JsonObject, JsonValue } from '../std/json.ts';

/**
 * The worker's wire: RXON over HTTP (version 1.0b14) plus our batched forms. Field names are the
 * wire's. `task_id` holds the attempt's id (S-18): a worker that reports under an id that is no
 * longer current is refused, which is what fences it.
 */
export const rxonVersion = '1.0b14';

export interface RegistrationBody {
  readonly worker_id: string;
  readonly worker_type?: string;
  readonly supported_skills: readonly (string | SkillInfo)[];
  readonly available_skills?: readonly string[];
  readonly hot_skills?: readonly (string | { readonly name: string })[];
  readonly resources?: {
    readonly devices?: readonly {
      readonly type?: string;
      readonly model?: string;
      readonly id?: string;
      readonly properties?: JsonObject;
    }[];
    readonly properties?: JsonObject;
  };
  readonly installed_software?: Readonly<Record<string, string>>;
  readonly installed_artifacts?: readonly { readonly name: string; readonly version?: string }[];
  readonly capabilities?: {
    readonly hostname?: string;
    readonly ip_address?: string;
    readonly cost_per_skill?: Readonly<Record<string, number>>;
    readonly extra?: JsonObject & {
      /** Ours: names the worker's process (S-24). */
      readonly boot_id?: string;
      /** Ours: default 15000. */
      readonly heartbeat_interval_ms?: number;
      /** Ours: tasks that it runs at once. */
      readonly slots?: number;
      /** Ours: it uses the batched forms (S-40). */
      readonly batch?: boolean;
    };
  };
  readonly skills_hash?: string;
  readonly timestamp?: number;
}

export interface RegistrationAnswer {
  readonly status: 'registered';
  readonly version: string;
}

export interface SkillInfo {
  readonly name: string;
  readonly type?: string;
  readonly version?: string;
}

export interface HeartbeatBody {
  readonly worker_id?: string;
  readonly status?: string;
  /** Attempts that it works on or has a result for. Absent: unknown. `[]`: none. */
  readonly current_tasks?: readonly string[];
  /** Ours: attempts that it holds and has not begun. */
  readonly prefetched_tasks?: readonly string[];
  readonly supported_skills?: readonly (string | SkillInfo)[];
  readonly hot_skills?: readonly (string | { readonly name: string })[];
  readonly usage?: JsonObject;
}

export interface HeartbeatAnswer {
  /** `ttl_refreshed` answers a heartbeat without a body. */
  readonly status: 'ok' | 'ttl_refreshed';
  readonly cancel_task_ids?: readonly string[];
}

export interface TaskBody {
  readonly job_id: string;
  readonly task_id: string;
  readonly type: string;
  readonly params: JsonObject;
  readonly priority: number;
  readonly timestamp: number;
  readonly tracing_context: JsonObject;
  /** Absolute, Unix seconds. */
  readonly deadline?: number;
  readonly metadata?: JsonObject;
  /** In the batched forms, which RXON doesn't have. */
  readonly correlation_id?: string;
}

export interface ResultBody {
  readonly job_id: string;
  readonly task_id: string;
  readonly worker_id?: string;
  readonly status?: string;
  readonly data?: JsonValue;
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: JsonValue;
  };
  /** Ours: the worker gives the task back instead of reporting; says whether it had begun. */
  readonly handed_back?: 'started' | 'not_started';
}

export type ResultAnswer =
  | { readonly status: 'accepted'; readonly transition: ResultTransition }
  | { readonly status: 'ignored'; readonly reason: string; readonly message: string };

export type ResultTransition =
  | 'success_transition'
  | 'failure_handled'
  | 'cancelled_handled'
  | 'unhandled_status_failure';

export interface TasksAnswer {
  readonly tasks: readonly TaskBody[];
}

/** Several results in one post, and how many further tasks the worker has room for. */
export interface ResultsBody {
  readonly results: readonly ResultBody[];
  readonly want?: number;
}

export type BatchResultAnswer =
  | { readonly status: 'accepted'; readonly transition: ResultTransition }
  | {
      readonly status: 'refused';
      readonly code: 'ATTEMPT_NOT_CURRENT';
      readonly reason: string;
      readonly message: string;
    };

export interface ResultsAnswer {
  readonly results: readonly BatchResultAnswer[];
  readonly tasks: readonly TaskBody[];
}

export interface WorkerEventBody {
  readonly event_id?: string;
  readonly worker_id?: string;
  readonly event_type: string;
  readonly payload?: JsonObject;
  readonly target_job_id?: string;
  readonly target_task_id?: string;
  readonly origin_task_id?: string;
}

export interface WorkerEventAnswer {
  readonly status: 'event_accepted';
}
