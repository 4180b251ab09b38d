import type { TaskFolder } from '../files/task-folder.ts';
import type { TaskFiles } from '../protocol/files.ts';
import type { ResultBody, TaskBody } from '../protocol/worker-api.ts';
import type { CancelTimer } from '../std/clock.ts';
import type { JsonObject } from '../std/json.ts';
import type { Log, LogFields } from '../std/log.ts';
import type { WorkerFiles } from './files.ts';
import { reportOfError, type WorkerResult } from './outcome.ts';

/** What a handler is given. */
export interface WorkerTask {
  /** Names this hand-out of the task: a retry comes under another id. It fences the report. */
  readonly attempt: string;
  readonly jobId: string;
  readonly skill: string;
  readonly params: JsonObject;
  readonly metadata: JsonObject;
  /** Links what this work causes with everything else of the job; null from a server that doesn't say. */
  readonly correlationId: string | null;
  /** W3C trace context of the job; empty where it has none. */
  readonly tracing: JsonObject;
  /** When a result comes too late, by the server's clock; null where only its own limit bounds it. */
  readonly deadline: Date | null;
  /**
   * Aborts when the attempt was lost or cancelled, when its deadline passed, and when the worker
   * stops and its drain time is over. Whatever happens afterwards counts for nothing.
   */
  readonly signal: AbortSignal;
  /**
   * Tells how far the work is, best effort: a newer word replaces one that is not sent yet.
   * @param fraction 0 to 1; null where nobody knows.
   */
  readonly progress: (fraction: number | null, message?: string) => void;
  /** Every line carries job, attempt, correlation id and skill. */
  readonly log: Log;
  /** The files of the job. Local copies vanish when the handler has ended. */
  readonly files: TaskFiles;
}

/**
 * Does one task. What it returns becomes the data of a `success`; `result(status, data)` names
 * another status. What it throws is transient unless it is a PermanentError or InvalidInputError.
 */
export type Handler = (
  task: WorkerTask,
) => Promise<HandlerValue | WorkerResult> | HandlerValue | WorkerResult;

/** A JSON value, checked when it is returned: interfaces are no JsonObject to the compiler. */
export type HandlerValue = object | string | number | boolean | null | undefined | void;

export type StopReason = 'cancelled' | 'deadline' | 'drain';

const stopSentences: Readonly<Record<StopReason, string>> = {
  cancelled: 'the server gave the attempt up',
  deadline: 'the deadline of the task has passed',
  drain: 'the worker stops and its drain time is over',
};

export interface TaskSurroundings {
  readonly log: Log;
  readonly onProgress: (task: HeldTask, fraction: number | null, message?: string) => void;
  readonly files: WorkerFiles;
}

/** One attempt that the worker holds. Signal and log are made only when a handler asks for them. */
export class HeldTask implements WorkerTask {
  readonly #body: TaskBody;
  readonly #surroundings: TaskSurroundings;
  #controller: AbortController | null = null;
  #log: Log | null = null;
  #files: TaskFolder | null = null;
  /** Steady instant of the deadline. */
  readonly endsAt: number | null;
  phase: 'queued' | 'running' | 'ended' = 'queued';
  stopped: StopReason | null = null;
  cancelDeadline: CancelTimer | null = null;

  constructor(body: TaskBody, surroundings: TaskSurroundings, steadyNow: number) {
    this.#body = body;
    this.#surroundings = surroundings;
    // Both instants are the server's, so that a worker whose clock is wrong keeps the right time.
    // The wire carries whole seconds, and to stop a moment late does no harm: the whole second counts.
    this.endsAt =
      body.deadline === undefined ? null : steadyNow + (body.deadline + 1 - body.timestamp) * 1_000;
  }

  get attempt(): string {
    return this.#body.task_id;
  }

  get jobId(): string {
    return this.#body.job_id;
  }

  get skill(): string {
    return this.#body.type;
  }

  get params(): JsonObject {
    return this.#body.params;
  }

  get metadata(): JsonObject {
    return this.#body.metadata ?? {};
  }

  get tracing(): JsonObject {
    return this.#body.tracing_context ?? {};
  }

  get correlationId(): string | null {
    return this.#body.correlation_id ?? null;
  }

  /** What a line of the log says of it. */
  get about(): LogFields {
    const { jobId: job, attempt, correlationId: correlation } = this;
    return { job, attempt, ...(correlation === null ? {} : { correlation }) };
  }

  get deadline(): Date | null {
    return this.#body.deadline === undefined ? null : new Date(this.#body.deadline * 1_000);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.stopped !== null) this.#abort(this.#controller, this.stopped);
    return this.#controller.signal;
  }

  get progress(): WorkerTask['progress'] {
    return (fraction, message) => this.#surroundings.onProgress(this, fraction, message);
  }

  get log(): Log {
    this.#log ??= this.#surroundings.log.child({ ...this.about, skill: this.skill });
    return this.#log;
  }

  get files(): TaskFiles {
    const { jobId, attempt, signal } = this;
    this.#files ??= this.#surroundings.files.of({ jobId, attempt, signal });
    return this.#files;
  }

  get identity(): Pick<ResultBody, 'job_id' | 'task_id'> {
    return { job_id: this.jobId, task_id: this.attempt };
  }

  /** Whether its handler asked for them. */
  get hasFiles(): boolean {
    return this.#files !== null;
  }

  /** Removes the local copies of its files. */
  async removeCopies(): Promise<void> {
    await this.#files?.close();
  }

  stop(reason: StopReason): void {
    if (this.stopped !== null) return;
    this.stopped = reason;
    if (this.#controller !== null) this.#abort(this.#controller, reason);
  }

  /** What a handler that threw reports: after a stop the stop is the cause, whatever it threw. */
  errorReport(thrown: unknown): ResultBody {
    switch (this.stopped) {
      case 'cancelled':
        return { ...this.identity, status: 'cancelled' };
      case 'deadline': {
        const error = { code: 'TIMEOUT_ERROR', message: stopSentences.deadline };
        return { ...this.identity, error };
      }
      case 'drain':
      case null:
        return reportOfError(this.identity, thrown);
    }
  }

  #abort(controller: AbortController, reason: StopReason): void {
    if (controller.signal.aborted) return;
    const error = new Error(stopSentences[reason]);
    error.name = 'AbortError';
    controller.abort(error);
  }
}
