import type { CircuitState } from '../../breaker/circuit.ts';
import type { BreakerChange } from '../../breaker/options.ts';
import type { Clock } from '../../std/clock.ts';

interface BreakerWatchParts {
  readonly clock: Clock;
  readonly openMs: number;
  readonly maxProbes: number;
}

/** Sees every change of one breaker and every call that it lets through. */
export class BreakerWatch {
  readonly violations: string[] = [];
  /** How often it changed to each of its states. */
  readonly changes: Record<CircuitState, number> = { closed: 0, half_open: 0, open: 0 };
  readonly #parts: BreakerWatchParts;
  #openedAt = Number.NEGATIVE_INFINITY;
  /** Those that were let through since the last change. */
  #probes = 0;

  constructor(parts: BreakerWatchParts) {
    this.#parts = parts;
  }

  onChange({ to }: BreakerChange): void {
    this.changes[to] += 1;
    this.#probes = 0;
    if (to === 'open') this.#openedAt = this.#parts.clock.steady();
  }

  /** A call begins, in a circuit of this state. @returns what is to be called when it has ended */
  onCall(state: CircuitState): () => void {
    const { clock, openMs, maxProbes } = this.#parts;
    if (state === 'closed') return () => undefined;
    if (state === 'open') this.violations.push('an open circuit let a call through');
    const sinceMs = clock.steady() - this.#openedAt;
    if (sinceMs < openMs) this.violations.push(`a probe ${sinceMs} ms after the circuit opened`);
    this.#probes += 1;
    if (this.#probes > maxProbes) this.violations.push(`${this.#probes} probes at once`);
    const generation = this.#generation;
    return () => {
      if (generation === this.#generation) this.#probes -= 1;
    };
  }

  get #generation(): number {
    return this.changes.closed + this.changes.half_open + this.changes.open;
  }
}
