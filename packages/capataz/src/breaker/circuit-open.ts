import { CapatazError } from '../protocol/errors.ts';
import { formatDuration } from '../std/duration.ts';

/**
 * The breaker refused the call; the operation was not started. It is no failed attempt: whoever
 * counts attempts leaves it out and comes back after `retryAfterMs`.
 */
export class CircuitOpenError extends CapatazError {
  /** The name of the breaker. */
  readonly breaker: string;
  /** What is left of the open time, in ms; while a probe is under way, a guess. */
  readonly retryAfterMs: number;

  constructor(breaker: string, retryAfterMs: number) {
    const wait = formatDuration(retryAfterMs);
    super('CIRCUIT_OPEN', `the circuit "${breaker}" is open; try again in ${wait}`, {
      breaker,
      retry_after_ms: retryAfterMs,
    });
    this.breaker = breaker;
    this.retryAfterMs = retryAfterMs;
  }
}
