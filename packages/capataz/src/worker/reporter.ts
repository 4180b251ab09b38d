import type {
  BatchResultAnswer,
  ResultBody,
  ResultsAnswer,
  ResultsBody,
  TaskBody,
} from '../protocol/worker-api.ts';
import type { Log, LogFields } from '../std/log.ts';
import type { Lane } from './lane.ts';
import { type Transport, TransportError } from './transport.ts';

export interface ReportedTask {
  readonly about: LogFields;
}

export interface ReporterOptions {
  /** Posts that may be under way at once. */
  readonly lanes: readonly Lane[];
  readonly transport: Transport;
  readonly log: Log;
  /** Room for further tasks, the ones counted that `expected` says. */
  readonly want: () => number;
  readonly onTasks: (tasks: readonly TaskBody[]) => void;
  /** The server does not know this worker. */
  readonly onUnknown: () => void;
  /** A post has come to its end, well or not. */
  readonly onEnd: () => void;
}

/** Long, since a server under load may take its time; a dead link shows in the heartbeats earlier. */
const answerLimitMs = 30_000;
/** Results of one post: some hundred kilobytes for small ones. */
const largestBatch = 1_000;
/**
 * A further post goes out beside the one under way when it carries this many: then server, store and
 * worker work at the same time instead of waiting for each other. With fewer it would only cost.
 */
const worthASecondPost = 32;

/**
 * Keeps each report until the server has answered it. What comes while a post is under way goes
 * together in the next one, or beside it where it is many.
 *
 * A post that the server finds invalid (400, 413) is repeated in halves until the culprit stands
 * alone; that one is reported as a permanent error with the server's sentence, so that its job ends
 * instead of waiting for its limits again and again.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  #pending: ResultBody[] = [];
  /** The posts under way, with the tasks that each has asked for. */
  readonly #posts = new Map<readonly ResultBody[], number>();
  #batchLimit = largestBatch;
  /** By attempt: what a line of the log says of those that are not answered. */
  readonly #tasks = new Map<string, ReportedTask>();
  /** Attempts whose own report was refused as invalid. */
  readonly #replaced = new Set<string>();
  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Reports without an answer. */
  get size(): number {
    let size = this.#pending.length;
    for (const results of this.#posts.keys()) size += results.length;
    return size;
  }

  /** Tasks that the posts under way have asked for. */
  get asked(): number {
    let asked = 0;
    for (const want of this.#posts.values()) asked += want;
    return asked;
  }

  /** What will be held of this when every post is answered, or still is, whichever is more. */
  get expected(): number {
    let expected = this.#pending.length;
    for (const [results, want] of this.#posts) expected += Math.max(results.length, want);
    return expected;
  }

  attempts(): string[] {
    return [...this.#posts.keys(), this.#pending].flat().map((report) => report.task_id);
  }

  add(report: ResultBody, task: ReportedTask): void {
    this.#tasks.set(report.task_id, task);
    this.#pending.push(report);
  }

  /** Sends what is pending: at once where no post is under way, else where it is worth a further one. */
  pump(): void {
    for (const lane of this.#options.lanes) {
      const least = this.#posts.size === 0 ? 1 : worthASecondPost;
      if (this.#pending.length < least || this.#isPausing()) return;
      if (lane.free) this.#post(lane);
    }
  }

  /** After a failure nothing goes out by another lane either. */
  #isPausing(): boolean {
    return this.#options.lanes.some((lane) => !lane.free && !lane.busy);
  }

  #post(lane: Lane): void {
    const results = this.#pending.slice(0, this.#batchLimit);
    this.#pending = this.#pending.slice(results.length);
    const want = this.#options.want();
    this.#posts.set(results, want);
    void this.#send(lane, { results, want });
  }

  async #send(lane: Lane, body: ResultsBody): Promise<void> {
    const { transport } = this.#options;
    const outcome = await lane.call(answerLimitMs, async (signal) => {
      const answer = await transport.report(body, signal);
      if (answer.results.length === body.results.length) return answer;
      throw new TransportError(
        `${body.results.length} results were answered with ${answer.results.length}`,
      );
    });
    this.#posts.delete(body.results);
    if (outcome.ok) this.#answered(body.results, outcome.answer);
    else this.#failed(lane, body.results, outcome.error);
    this.#options.onEnd();
  }

  #answered(results: readonly ResultBody[], answer: ResultsAnswer): void {
    this.#batchLimit = Math.min(largestBatch, this.#batchLimit * 2);
    for (const [index, settled] of answer.results.entries()) {
      this.#settled(results[index]?.task_id ?? '', settled);
    }
    this.#options.onTasks(answer.tasks);
  }

  #settled(attempt: string, answer: BatchResultAnswer): void {
    const about = this.#forget(attempt);
    if (answer.status === 'accepted') return;
    const { reason, message } = answer;
    this.#options.log.warn('a result was refused', { ...about, reason, sentence: message });
  }

  #forget(attempt: string): LogFields {
    const about = this.#tasks.get(attempt)?.about ?? { attempt };
    this.#tasks.delete(attempt);
    this.#replaced.delete(attempt);
    return about;
  }

  #failed(lane: Lane, results: readonly ResultBody[], error: TransportError): void {
    const { log, onUnknown } = this.#options;
    if (error.status === 400 || error.status === 413) return this.#invalid(results, error);
    if (error.status === 409) {
      for (const { task_id } of results) this.#forget(task_id);
      log.warn('results were refused', { count: results.length, reason: error.message });
      return;
    }
    this.#pending = [...results, ...this.#pending];
    if (error.status === 404) onUnknown();
    lane.pause(error);
  }

  #invalid(results: readonly ResultBody[], error: TransportError): void {
    const [first] = results;
    if (first === undefined || results.length > 1) {
      this.#batchLimit = Math.max(1, Math.floor(results.length / 2));
      this.#pending = [...results, ...this.#pending];
      return;
    }
    const { job_id, task_id } = first;
    const { message } = error;
    const { log } = this.#options;
    if (this.#replaced.has(task_id)) {
      log.error('a result cannot be reported', { ...this.#forget(task_id), reason: message });
      return;
    }
    const about = this.#tasks.get(task_id)?.about ?? { job: job_id, attempt: task_id };
    log.error('a result is invalid', { ...about, reason: message });
    this.#replaced.add(task_id);
    const sentence = `the server refused the result: ${message}`;
    this.#pending.unshift({
      job_id,
      task_id,
      error: { code: 'PERMANENT_ERROR', message: sentence },
    });
  }
}
