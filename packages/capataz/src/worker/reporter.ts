import type {
  BatchResultAnswer,
  ResultBody,
  ResultsAnswer,
  ResultsBody,
  TaskBody,
} from '../protocol/worker-api.ts';
import type { Log } from '../std/log.ts';
import type { Lane } from './lane.ts';
import { type Transport, TransportError } from './transport.ts';

export interface ReporterOptions {
  readonly lane: Lane;
  readonly transport: Transport;
  readonly log: Log;
  /** Room for further tasks, if this many reports were answered. */
  readonly want: (answered: number) => number;
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
 * Keeps each report until the server has answered it, in the order in which they came. One post is
 * under way at a time; what comes meanwhile goes together in the next one.
 *
 * A post that the server finds invalid (400, 413) is repeated in halves until the culprit stands
 * alone; that one is reported as a permanent error with the server's sentence, so that its job ends
 * instead of waiting for its limits again and again.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  #pending: ResultBody[] = [];
  #inFlight: readonly ResultBody[] = [];
  #batchLimit = largestBatch;
  /** Attempts whose own report was refused as invalid. */
  readonly #replaced = new Set<string>();
  /** Tasks that the post under way has asked for. */
  asked = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Reports without an answer. */
  get size(): number {
    return this.#pending.length + this.#inFlight.length;
  }

  attempts(): string[] {
    return [...this.#inFlight, ...this.#pending].map((report) => report.task_id);
  }

  add(report: ResultBody): void {
    this.#pending.push(report);
  }

  /** Sends what is pending, unless a post is under way. */
  pump(): void {
    if (this.#pending.length === 0 || !this.#options.lane.free) return;
    this.#inFlight =
      this.#pending.length <= this.#batchLimit
        ? this.#pending
        : this.#pending.slice(0, this.#batchLimit);
    this.#pending = this.#pending.slice(this.#inFlight.length);
    this.asked = this.#options.want(this.#inFlight.length);
    void this.#send({ results: this.#inFlight, want: this.asked });
  }

  async #send(body: ResultsBody): Promise<void> {
    const { lane, transport } = this.#options;
    const outcome = await lane.call(answerLimitMs, async (signal) => {
      const answer = await transport.report(body, signal);
      if (answer.results.length === body.results.length) return answer;
      throw new TransportError(
        `${body.results.length} results were answered with ${answer.results.length}`,
      );
    });
    this.asked = 0;
    this.#inFlight = [];
    if (outcome.ok) this.#answered(body.results, outcome.answer);
    else this.#failed(body.results, outcome.error);
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
    this.#replaced.delete(attempt);
    if (answer.status === 'accepted') return;
    const { reason, message } = answer;
    this.#options.log.warn('a result was refused', { attempt, reason, sentence: message });
  }

  #failed(results: readonly ResultBody[], error: TransportError): void {
    const { lane, log, onUnknown } = this.#options;
    if (error.status === 400 || error.status === 413) return this.#invalid(results, error);
    if (error.status === 409) {
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
    if (this.#replaced.delete(task_id)) {
      this.#options.log.error('a result cannot be reported', {
        job: job_id,
        attempt: task_id,
        reason: message,
      });
      return;
    }
    this.#options.log.error('a result is invalid', {
      job: job_id,
      attempt: task_id,
      reason: message,
    });
    this.#replaced.add(task_id);
    const sentence = `the server refused the result: ${message}`;
    this.#pending.unshift({
      job_id,
      task_id,
      error: { code: 'PERMANENT_ERROR', message: sentence },
    });
  }
}
