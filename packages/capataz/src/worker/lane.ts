import { assert } from '../std/assert.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Random } from '../std/random.ts';
import { TransportError } from './transport.ts';

export interface LaneOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Called when a pause is over. */
  readonly onFree: () => void;
}

export type Outcome<T> =
  | { readonly ok: true; readonly answer: T }
  | { readonly ok: false; readonly error: TransportError };

const firstPauseMs = 50;
/** A server that has come back is found within half a second. */
const longestPauseMs = 500;
/** A quota may ask for more patience than an outage; beyond this nobody would notice its end. */
const longestObeyedMs = 30_000;

/**
 * One kind of request: at most one is under way, and after a failure the lane pauses, at first
 * 25 to 50 ms, doubling to at most half a second. A lane waits by the clock it was given and trusts no
 * transport to give up by itself.
 */
export class Lane {
  readonly #options: LaneOptions;
  #abort: ((error: TransportError) => void) | null = null;
  #cancelPause: CancelTimer | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Neither is a request under way nor is the lane pausing or closed. */
  get free(): boolean {
    return this.#abort === null && this.#cancelPause === null && !this.#isClosed;
  }

  get busy(): boolean {
    return this.#abort !== null;
  }

  /** Performs a request; without an answer within `limitMs` it counts as failed. */
  async call<T>(
    limitMs: number,
    perform: (signal: AbortSignal) => Promise<T>,
  ): Promise<Outcome<T>> {
    assert(this.free, 'a lane carries one request at a time');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const controller = new AbortController();
    const abort = (error: TransportError): void => {
      reject(error);
      controller.abort();
    };
    this.#abort = abort;
    const cancel = this.#options.clock.after(limitMs, () =>
      abort(new TransportError(`no answer within ${limitMs} ms`)),
    );
    try {
      perform(controller.signal).then(resolve, reject);
      const answer = await promise;
      this.#failures = 0;
      return { ok: true, answer };
    } catch (cause) {
      return { ok: false, error: asTransportError(cause) };
    } finally {
      cancel();
      this.#abort = null;
    }
  }

  /** Lets the next request wait, after one that failed. */
  pause(error: TransportError): void {
    if (this.#isClosed) return;
    const { clock, random, onFree } = this.#options;
    const nominalMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    const jitteredMs = nominalMs * (0.5 + random.next() / 2);
    this.#cancelPause?.();
    this.#cancelPause = clock.after(Math.max(jitteredMs, obeyedMs(error)), () => {
      this.#cancelPause = null;
      onFree();
    });
  }

  /** Gives up the request under way, as if it had got no answer; the lane is free a tick later. */
  abort(reason: string): void {
    this.#abort?.(new TransportError(reason));
  }

  /** Ends request and pause; nothing is called back. */
  close(): void {
    this.#isClosed = true;
    this.abort('the worker has stopped');
    this.#cancelPause?.();
    this.#cancelPause = null;
  }
}

function obeyedMs({ status, retryAfterMs }: TransportError): number {
  if (retryAfterMs === null) return 0;
  return Math.min(retryAfterMs, status === 429 ? longestObeyedMs : longestPauseMs);
}

function asTransportError(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause;
  return new TransportError(cause instanceof Error ? cause.message : String(cause), { cause });
}
