import type {
  HeartbeatAnswer,
  HeartbeatBody,
  RegistrationBody,
  ResultsAnswer,
  ResultsBody,
  TaskBody,
  WorkerEventBody,
} from '../protocol/worker-api.ts';

/**
 * How a worker reaches the server: one call is one request and one answer. A transport keeps no
 * state of the protocol, knows no time and never repeats anything; all of that is the worker's, so
 * that a simulator can put a faulty transport in place of the network.
 *
 * Every call rejects with a TransportError, and with nothing else. The signal says that the answer
 * is no longer wanted: the connection that was to carry it is not to be used again.
 */
export interface Transport {
  register(body: RegistrationBody, signal: AbortSignal): Promise<void>;
  heartbeat(body: HeartbeatBody, signal: AbortSignal): Promise<HeartbeatAnswer>;
  /** A long poll: answers with up to `max` tasks as soon as there is one, with none after the time. */
  poll(query: PollQuery, signal: AbortSignal): Promise<readonly TaskBody[]>;
  report(body: ResultsBody, signal: AbortSignal): Promise<ResultsAnswer>;
  event(body: WorkerEventBody, signal: AbortSignal): Promise<void>;
  /** Gives every connection back. Nothing is called afterwards. */
  close(): void;
}

/** Reports may be under way in so many posts at once: one decided, one stored, one on its way. */
export const mostPostsAtOnce = 3;

export interface PollQuery {
  readonly max: number;
  readonly timeoutSeconds: number;
}

/** A request that was refused or got no answer. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** The HTTP status of the refusal; null when there was no answer that could be understood. */
  readonly status: number | null;
  /** The server's wish, ms from the answer; null if it has none. */
  readonly retryAfterMs: number | null;
  /** The stable code of the refusal, where the server gave one. */
  readonly code: string | null;

  constructor(message: string, options: TransportErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.code = options.code ?? null;
  }
}

export interface TransportErrorOptions {
  readonly status?: number;
  readonly retryAfterMs?: number | null;
  readonly code?: string | null;
  readonly cause?: unknown;
}
