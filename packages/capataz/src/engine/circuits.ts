import type { Breaker, Permit } from '../breaker/breaker.ts';
import { Breakers } from '../breaker/breakers.ts';
import type { CircuitState, Verdict } from '../breaker/circuit.ts';
import { CircuitOpenError } from '../breaker/circuit-open.ts';
import type { BreakerChange, BreakerOptions } from '../breaker/options.ts';
import type { HistoryEntry } from '../core/history.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Committed, DoneChange } from './committer.ts';

export type CircuitOptions = Pick<
  BreakerOptions,
  'failureThreshold' | 'successThreshold' | 'openFor'
>;

/** What is told of a worker's circuit. */
export interface CircuitReading {
  readonly state: CircuitState;
  /** Until it is tried again; null where it may be tried now, or a probe is under way. */
  readonly triedInMs: number | null;
}

interface CircuitsParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly options: CircuitOptions;
  readonly isPresent: (worker: string) => boolean;
  /** Polls of the worker may get something now. */
  readonly serve: (worker: string) => void;
}

/** Far above any fleet: ids are the workers' own choice, and memory stays bounded. */
const maxWorkers = 100_000;
/**
 * A probe is a task and may well run for hours. It always ends by a deadline of its own; this is for
 * an end that another instance saw.
 */
const probeTimeout = '24h';

/** Longer than the silence of any usual worker, after which it counts as lost. */
const heldProbeMs = 60_000;

/** Entries that end an attempt without a word of its worker. Every other end is a result of it. */
const verdicts: Readonly<Record<string, Verdict>> = {
  lost: 'failure',
  assigned_timeout: 'failure',
  scheduled_timeout: 'failure',
  not_delivered: 'none',
  not_started: 'none',
  handed_back: 'none',
};

const closed: CircuitReading = { state: 'closed', triedInMs: null };

/**
 * A circuit for each worker (S-36). A guarded call is one attempt: a result is a success, also an
 * error, for the worker has answered; lost, stuck, or longer than its execution limit is a failure;
 * what came back unbegun says nothing, nor does a result that came too late for its client: that time
 * began in the queue, and a client could shut a worker to all others with it. While the circuit is open the worker's polls get nothing and the tasks stay queued
 * for others (H-dd); then it gets one task at a time until three have come back.
 *
 * Whatever goes wrong for a worker in one commit is *one* failure: a crash under forty tasks is one
 * event, and would else open the circuit of a sound worker at its first restart.
 *
 * A probe that its worker holds on to and lives is a success, too: what opens a circuit are tasks that
 * are lost, and a long one would keep a big worker at one task for as long as it runs.
 *
 * Where several instances hand out, each has circuits of its own and hears of some ends only. An end that
 * it sees of what another handed out counts as a call that begins and ends at once.
 *
 * A suspect counts like any task. By the default policy it runs four times, which is less than the
 * five failures that open a circuit, and whatever its worker does well in between counts anew, so
 * that one poison task shuts nobody out.
 */
export class Circuits {
  readonly #parts: CircuitsParts;
  readonly #breakers: Breakers;
  /** Worker → attempt that was handed out here → its permit; null: it says nothing any more. */
  readonly #permits = new Map<string, Map<string, Permit | null>>();
  /** Workers whose circuit is not closed: to ask about any other costs one look. */
  readonly #tripped = new Set<string>();
  readonly #alarms = new Map<string, CancelTimer>();
  /** Of probes under way, by attempt. */
  readonly #probes = new Map<string, CancelTimer>();

  constructor(parts: CircuitsParts) {
    this.#parts = parts;
    const { clock, log, options } = parts;
    const onChange = (change: BreakerChange): void => this.#onChange(change);
    const own = { clock, log, onChange, probeTimeout, maxKeys: maxWorkers };
    this.#breakers = new Breakers({ ...options, ...own });
  }

  /** For gauges: those of the workers that are there, so that series end with their worker (H-y). */
  list(): readonly Breaker[] {
    return this.#breakers.list().filter(({ name }) => this.#parts.isPresent(name));
  }

  /** How many tasks the circuit lets through to the worker now. */
  room(worker: string): number {
    if (!this.#tripped.has(worker)) return Number.POSITIVE_INFINITY;
    const { state, pausedForMs } = this.#breakers.get(worker);
    if (state === 'closed') return Number.POSITIVE_INFINITY;
    return pausedForMs === null ? 1 : 0;
  }

  of(worker: string): CircuitReading {
    if (!this.#tripped.has(worker)) return closed;
    const { state, pausedForMs } = this.#breakers.get(worker);
    return { state, triedInMs: state === 'open' ? pausedForMs : null };
  }

  /** Before anybody else acts on the commit: what ended makes room, or takes it. */
  onCommitted({ done, assigned }: Committed): void {
    this.#onEnds(done);
    for (const { attempt } of assigned) {
      if (attempt !== null) this.#onAssigned(attempt.worker, attempt.id);
    }
  }

  /**
   * The worker is gone. Its count is kept as long as breakers are: one that dies with each task is
   * gone after each, and would never be found out.
   */
  onLost(worker: string): void {
    this.#dropPermits(worker);
  }

  /**
   * Another instance has seen the end of what was handed out here. A probe whose worker lives was a success:
   * to wait for a word of it would keep the worker at one task for ever.
   */
  onEndedElsewhere(worker: string, attempt: string): void {
    const wasProbe = this.#probes.has(attempt);
    this.#takePermit({ worker, attempt })?.end(wasProbe ? 'success' : 'none');
    if (wasProbe) this.#parts.serve(worker);
  }

  /** It ended in good order: whoever comes under its name next starts anew. */
  onSignedOff(worker: string): void {
    this.#dropPermits(worker);
    this.#cancelAlarm(worker);
    this.#breakers.forget(worker);
    this.#tripped.delete(worker);
  }

  stop(): void {
    for (const worker of this.#permits.keys()) this.#dropPermits(worker);
    for (const worker of this.#alarms.keys()) this.#cancelAlarm(worker);
  }

  #onEnds(done: readonly DoneChange[]): void {
    const failed = new Map<string, Permit>();
    for (const { request, outcome } of done) {
      for (const entry of request.change.history) {
        const verdict = verdictOf(entry);
        const permit = verdict === null ? null : this.#permitOf(entry);
        if (verdict === null || permit === null) continue;
        if (verdict !== 'failure') permit.end(verdict);
        else {
          // The last hand-out speaks for all: the probe, where there is one.
          failed.get(entry.worker ?? '')?.end('none');
          failed.set(entry.worker ?? '', permit);
        }
      }
      for (const cancelled of outcome.cancelled) this.#takePermit(cancelled)?.end('none');
    }
    for (const permit of failed.values()) permit.end('failure');
  }

  #onAssigned(worker: string, attempt: string): void {
    // The circuit opened while the claim was under way: what becomes of this one says nothing new.
    const permit = this.#admit(worker);
    const permits = this.#permits.get(worker) ?? new Map<string, Permit | null>();
    this.#permits.set(worker, permits.set(attempt, permit));
    if (permit !== null && this.#tripped.has(worker)) this.#watchProbe(worker, attempt);
  }

  #admit(worker: string): Permit | null {
    const permit = this.#breakers.get(worker).admit();
    return permit instanceof CircuitOpenError ? null : permit;
  }

  #watchProbe(worker: string, attempt: string): void {
    const { clock, isPresent, serve } = this.#parts;
    const cancel = clock.after(heldProbeMs, () => {
      const permit = this.#permits.get(worker)?.get(attempt);
      if (!isPresent(worker) || permit === undefined) return;
      this.#permits.get(worker)?.set(attempt, null);
      permit?.end('success');
      serve(worker);
    });
    this.#probes.set(attempt, cancel);
  }

  /** Of what another instance handed out: one that is given now. */
  #permitOf(ended: Pick<HistoryEntry, 'worker' | 'attempt'>): Permit | null {
    const permit = this.#takePermit(ended);
    return permit === undefined ? this.#admit(ended.worker ?? '') : permit;
  }

  #takePermit({ worker = '', attempt = '' }: Pick<HistoryEntry, 'worker' | 'attempt'>) {
    this.#cancelProbe(attempt);
    const permits = this.#permits.get(worker);
    const permit = permits?.get(attempt);
    permits?.delete(attempt);
    if (permits?.size === 0) this.#permits.delete(worker);
    return permit;
  }

  #dropPermits(worker: string): void {
    for (const [attempt, permit] of this.#permits.get(worker) ?? []) {
      this.#cancelProbe(attempt);
      permit?.end('none');
    }
    this.#permits.delete(worker);
  }

  #onChange({ name: worker, to }: BreakerChange): void {
    if (to === 'closed') this.#tripped.delete(worker);
    else this.#tripped.add(worker);
    if (to === 'open') this.#setAlarm(worker);
  }

  /** Polls that wait must not depend on somebody who asks when the open time has passed. */
  #setAlarm(worker: string): void {
    const { clock, serve } = this.#parts;
    const leftMs = this.of(worker).triedInMs;
    this.#cancelAlarm(worker);
    if (leftMs === null) return serve(worker);
    // A timer may ring a little early: then it is set once more.
    this.#alarms.set(
      worker,
      clock.after(leftMs, () => this.#setAlarm(worker)),
    );
  }

  #cancelProbe(attempt: string): void {
    this.#probes.get(attempt)?.();
    this.#probes.delete(attempt);
  }

  #cancelAlarm(worker: string): void {
    this.#alarms.get(worker)?.();
    this.#alarms.delete(worker);
  }
}

/** @returns null where the entry ends no attempt. */
function verdictOf({ type, reason, attempt }: HistoryEntry): Verdict | null {
  if (attempt === undefined) return null;
  switch (type) {
    case 'task_finished':
      return 'success';
    case 'task_timed_out':
      return reason === 'EXECUTION_LIMIT' ? 'failure' : 'none';
    case 'task_failed':
      // What a worker reports stands there as `CODE: message`.
      return verdicts[reason ?? ''] ?? 'success';
    default:
      return null;
  }
}
