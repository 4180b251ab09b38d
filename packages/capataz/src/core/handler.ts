import { CapatazError } from '../protocol/errors.ts';
import type { TaskFiles } from '../protocol/files.ts';
import { frozenJson, type JsonObject, type JsonValue } from '../std/json.ts';
import type { Action } from './any-action.ts';
import type { Emission } from './emit.ts';
import type { Answer, BranchResult, Job } from './job.ts';

/** What a handler sees of its job. `I` is the type of the blueprint's input schema. */
export interface HandlerJob<I = JsonValue> {
  readonly id: string;
  readonly blueprint: string;
  readonly state: string;
  /** What the job was started with. It never changes: it is frozen, and a write to it throws. */
  readonly input: I;
  /**
   * Persistent between states. Change it in place: the changes are stored with the action and
   * dropped when the handler throws.
   */
  readonly data: JsonObject;
  readonly client: ClientInfo;
  /** Runs of this handler in this stay in the state, this one included. */
  readonly attempt: number;
  readonly correlationId: string;
  /** W3C traceparent of the creating request, or null. */
  readonly trace: string | null;
  readonly metadata: JsonObject;
  readonly attributes: JsonObject;
  /** The data stores that were registered with the blueprint, by name. */
  readonly stores: Readonly<Record<string, unknown>>;
  /** What the tasks of a fan-out brought, by task id: in the aggregator's state, else null. */
  readonly results: Readonly<Record<string, BranchResult>> | null;
  /** The answer or signal that ended the last wait, until the next one; in a row the one it is about. */
  readonly answer: Answer | null;
  /**
   * Sends an event over the bus once the action is stored, at least once (S-58); dropped when the
   * handler throws. A server without a bus keeps it until one is configured.
   */
  emit(exchange: string, name: string, payload: JsonValue): void;
  /** The instant of the decision, ms since 1970 UTC: handlers read no clock of their own. */
  readonly now: number;
}

/** In `run` there is time to wait, so there is something to stop it. */
export interface RunningJob<I = JsonValue> extends HandlerJob<I> {
  /** Aborts when the job is cancelled, the lease is lost or the server stops. */
  readonly signal: AbortSignal;
  /** Logs with job, state and correlation id on each line. */
  readonly log: HandlerLog;
  /**
   * Calls `fn` once and remembers what it gave, so that a retry of this handler doesn't repeat an
   * effect that succeeded. At least once: a crash between the effect and the memo repeats it, so give
   * the effect a key of its own where it matters. Memos live as long as the stay in the state.
   * @throws Error for a name that is used twice in one run
   */
  step<T extends JsonValue | undefined>(name: string, fn: () => Promise<T> | T): Promise<T>;
  /** Shown on the job while the handler runs, and stored nowhere. `fraction` goes from 0 to 1. */
  readonly progress: (fraction: number | null, message?: string) => void;
  /** The job's files. @throws NOT_SUPPORTED where the engine was given no place for them. */
  readonly files: TaskFiles;
}

export interface HandlerLog {
  info(message: string, fields?: JsonObject): void;
  warn(message: string, fields?: JsonObject): void;
  error(message: string, fields?: JsonObject): void;
}

export interface ClientInfo {
  readonly name: string;
  readonly plan: string | null;
  readonly params: JsonObject;
}

/** Synchronous and without effects: runs inside the decision. Nothing returned only in an end state. */
export type Handle<S extends string = string, I = JsonValue> = (
  job: HandlerJob<I>,
) => Action<S> | undefined | void;

/** For what awaits or has effects: runs under a lease after the commit. */
export type Run<S extends string = string, I = JsonValue> = (
  job: RunningJob<I>,
) => Promise<Action<S> | undefined | void>;

interface Surroundings {
  readonly client: ClientInfo;
  readonly stores: Readonly<Record<string, unknown>>;
  readonly now: number;
}

/**
 * The job as its handler sees it. `data` is copied only when it is looked at: most `handle`s
 * dispatch from the input alone, and a copy costs more than the rest of the call.
 */
export class HandlerView implements HandlerJob {
  readonly #job: Job;
  readonly #around: Surroundings;
  readonly #emissions: Emission[] = [];
  #draft: JsonObject | null = null;

  constructor(job: Job, around: Surroundings) {
    this.#job = job;
    this.#around = around;
  }

  get id(): string {
    return this.#job.id;
  }
  get blueprint(): string {
    return this.#job.blueprint;
  }
  get state(): string {
    return this.#job.state;
  }
  get input(): JsonValue {
    return frozenJson(this.#job.input);
  }
  get data(): JsonObject {
    this.#draft ??= structuredClone(this.#job.data);
    return this.#draft;
  }
  get client(): ClientInfo {
    return frozenJson(this.#around.client);
  }
  get attempt(): number {
    return this.#job.failures + 1;
  }
  get correlationId(): string {
    return this.#job.correlationId;
  }
  get trace(): string | null {
    return this.#job.trace;
  }
  get metadata(): JsonObject {
    return frozenJson(this.#job.options.metadata);
  }
  get attributes(): JsonObject {
    return frozenJson(this.#job.options.attributes);
  }
  get stores(): Readonly<Record<string, unknown>> {
    return this.#around.stores;
  }
  get results(): Readonly<Record<string, BranchResult>> | null {
    return frozenJson(this.#job.results);
  }
  get answer(): Answer | null {
    return frozenJson(this.#job.answer);
  }
  get now(): number {
    return this.#around.now;
  }

  emit(exchange: string, name: string, payload: JsonValue): void {
    this.#emissions.push({ exchange, name, payload });
  }

  /** What the handler emitted so far. */
  get emissions(): readonly Emission[] {
    return this.#emissions;
  }

  /** The job's data after the handler: its draft if it looked at `data`, else what was there. */
  dataAfter(): JsonObject {
    return this.#draft ?? this.#job.data;
  }
}

interface RunningParts extends Pick<RunningJob, 'signal' | 'log'> {
  readonly files?: TaskFiles | undefined;
  readonly steps: { readonly run: RunningJob['step'] };
  readonly progress: RunningJob['progress'];
}

/** The view of a handler that runs after the commit. */
export class RunningView extends HandlerView implements RunningJob {
  readonly signal: AbortSignal;
  readonly log: HandlerLog;
  readonly #files: TaskFiles | undefined;
  readonly #steps: RunningParts['steps'];
  readonly progress: RunningJob['progress'];

  constructor(
    job: Job,
    around: Surroundings,
    { signal, log, files, steps, progress }: RunningParts,
  ) {
    super(job, around);
    this.signal = signal;
    this.log = log;
    this.#files = files;
    this.#steps = steps;
    this.progress = progress;
  }

  step<T extends JsonValue | undefined>(name: string, fn: () => Promise<T> | T): Promise<T> {
    return this.#steps.run(name, fn);
  }

  get files(): TaskFiles {
    if (this.#files !== undefined) return this.#files;
    throw new CapatazError('NOT_SUPPORTED', 'this engine was given no place for the files of jobs');
  }
}
