import { CapatazError } from '../protocol/errors.ts';
import { formatDuration } from '../std/duration.ts';
import {
  admit,
  type Circuit,
  type CircuitState,
  circuitStates,
  closedCircuit,
  settle,
  type Verdict,
} from './circuit.ts';
import { CircuitOpenError } from './circuit-open.ts';
import {
  type BreakerChange,
  type BreakerOptions,
  type BreakerSettings,
  breakerSettings,
} from './options.ts';

/** One admitted call. Whoever holds it says how the call ended; only the first word counts. */
export interface Permit {
  end(verdict: Verdict): void;
  /** `using`: a call that ends without a verdict says nothing, and leaves no slot taken. */
  [Symbol.dispose](): void;
}

/** While probes are under way nobody knows when the circuit closes: come back after so long. */
const probeWaitMs = 1_000;

/** Refuses calls to something that keeps failing, and finds out by single probes when it is back. */
export function breaker(options: BreakerOptions = {}): Breaker {
  return new Breaker(breakerSettings(options));
}

/**
 * A circuit breaker: *closed*, *open* or *half-open*. It lives in this process only; several
 * instances each find out for themselves, and each shows a gauge of its own.
 */
export class Breaker {
  readonly #settings: BreakerSettings;
  #circuit: Circuit = closedCircuit;
  /** Counts changes of state: the end of a call that an earlier state admitted means nothing now. */
  #generation = 0;
  #inFlight = 0;
  #usedAt: number;

  constructor(settings: BreakerSettings) {
    this.#settings = settings;
    this.#usedAt = settings.clock.steady();
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Open until a call comes after the open time: nothing happens by itself but an expired probe. */
  get state(): CircuitState {
    return this.#circuit.type;
  }

  /** The gauge: 0 closed, 1 half-open, 2 open. */
  get stateNumber(): number {
    return circuitStates.indexOf(this.#circuit.type);
  }

  /** Since the last call asked or ended, in ms; 0 while one is under way. */
  get idleMs(): number {
    return this.#inFlight > 0 ? 0 : this.#settings.clock.steady() - this.#usedAt;
  }

  /** How long a call that came now would have to wait; null where it would pass. Asking changes nothing. */
  get pausedForMs(): number | null {
    const now = this.#settings.clock.steady();
    const isAdmitted = admit(this.#circuit, now, this.#settings.limits) !== null;
    return isAdmitted ? null : this.#waitMs(now);
  }

  /**
   * Runs `fn`, unless the circuit is open. Its error comes out unchanged.
   * @throws CircuitOpenError: `fn` was not called. CALL_TIMEOUT: it took longer than `callTimeout`.
   */
  async call<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    const permit = this.admit();
    if (permit instanceof CircuitOpenError) throw permit;
    let timedOut = false;
    try {
      const value = await this.#run(fn, () => {
        timedOut = true;
      });
      permit.end('success');
      return value;
    } catch (error) {
      permit.end(timedOut ? 'failure' : this.#judge(error));
      throw error;
    }
  }

  /**
   * For calls that are no function, such as a task that a worker has for minutes. A permit that is
   * never ended does no harm: as a probe it fails after `probeTimeout`, else it counts for nothing.
   */
  admit(): Permit | CircuitOpenError {
    const { clock, limits } = this.#settings;
    const now = clock.steady();
    this.#usedAt = now;
    const next = admit(this.#circuit, now, limits);
    if (next === null) return this.#refusal(now);
    const change = this.#become(next);
    // Before the listener is told: it may call back and change the state that admitted this call.
    const permit = this.#permit();
    this.#tell(change);
    return permit;
  }

  #refusal(now: number): CircuitOpenError {
    return new CircuitOpenError(this.name, this.#waitMs(now));
  }

  #waitMs(now: number): number {
    const circuit = this.#circuit;
    if (circuit.type === 'open') return Math.ceil(circuit.until - now);
    return Math.min(probeWaitMs, this.#settings.limits.openMs);
  }

  #permit(): Permit {
    const generation = this.#generation;
    let hasEnded = false;
    this.#inFlight += 1;
    const end = (verdict: Verdict): void => {
      if (hasEnded) return;
      hasEnded = true;
      cancelExpiry();
      this.#inFlight -= 1;
      this.#settle(generation, verdict);
    };
    const cancelExpiry = this.#expire(end);
    return { end, [Symbol.dispose]: () => end('none') };
  }

  /** Only probes expire: a closed circuit is held up by nobody. */
  #expire(end: (verdict: Verdict) => void): () => void {
    const { clock, probeTimeoutMs } = this.#settings;
    if (this.#circuit.type !== 'half_open') return () => {};
    return clock.after(probeTimeoutMs, () => end('failure'));
  }

  #settle(generation: number, verdict: Verdict): void {
    const { clock, limits } = this.#settings;
    const now = clock.steady();
    this.#usedAt = now;
    if (generation !== this.#generation) return;
    this.#tell(this.#become(settle(this.#circuit, verdict, now, limits)));
  }

  #become(next: Circuit): BreakerChange | null {
    const from = this.#circuit.type;
    this.#circuit = next;
    if (from === next.type) return null;
    this.#generation += 1;
    return { name: this.name, from, to: next.type, at: this.#settings.clock.now() };
  }

  #tell(change: BreakerChange | null): void {
    if (change === null) return;
    const { log, onChange, limits } = this.#settings;
    const fields = { breaker: this.name, from: change.from, to: change.to };
    if (change.to === 'open')
      log.warn('a circuit opened', { ...fields, openFor: formatDuration(limits.openMs) });
    else log.info('a circuit changed', fields);
    try {
      onChange(change);
    } catch (error) {
      log.error('the listener of a circuit threw', { ...fields, error });
    }
  }

  #judge(error: unknown): Verdict {
    try {
      return this.#settings.judge(error);
    } catch (thrown) {
      this.#settings.log.error('the judge of a circuit threw', {
        breaker: this.name,
        error: thrown,
      });
      return 'failure';
    }
  }

  #run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, onTimeout: () => void): Promise<T> {
    const { callTimeoutMs, clock } = this.#settings;
    const abort = new AbortController();
    const running = new Promise<T>((resolve) => resolve(fn(abort.signal)));
    if (callTimeoutMs === null) return running;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(callTimeoutMs, () => {
        const limit = formatDuration(callTimeoutMs);
        const error = new CapatazError('CALL_TIMEOUT', `"${this.name}" took longer than ${limit}`);
        onTimeout();
        reject(error);
        abort.abort(error);
      });
      running.finally(cancel).then(resolve, reject);
    });
  }
}
