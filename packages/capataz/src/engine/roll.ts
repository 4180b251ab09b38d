import type { WorkerStatus } from '../core/status.ts';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import { holdJobs, markConnecting, markReady, type WorkerChange } from '../core/worker-machine.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { HeldAttempts } from './attempts.ts';
import type { EngineObserver } from './observer.ts';
import { Presence, type WorkerOperation } from './presence.ts';

interface RollParts {
  readonly held: HeldAttempts;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: Pick<EngineObserver, 'onWorkerCame' | 'onWorkerStatus'>;
}

/** A worker that has just registered, and the steps that it took to READY. */
interface Arrival {
  readonly presence: Presence;
  readonly steps: readonly WorkerStatus[];
}

/**
 * The workers that are there, as this instance knows them, with their statuses. READY and BUSY follow
 * from what a worker holds, which the store knows anyway; so a change between them is written nowhere.
 */
export class Roll {
  readonly #parts: RollParts;
  readonly #present = new Map<string, Presence>();

  constructor(parts: RollParts) {
    this.#parts = parts;
  }

  get(worker: string): Presence | undefined {
    return this.#present.get(worker);
  }

  /** @throws CapatazError WORKER_NOT_FOUND, upon which it registers again. */
  need(worker: string): Presence {
    const presence = this.#present.get(worker);
    if (presence === undefined) throw new CapatazError('WORKER_NOT_FOUND', 'Worker not found');
    return presence;
  }

  all(): Iterable<Presence> {
    return this.#present.values();
  }

  isCurrent(presence: Presence): boolean {
    return this.#present.get(presence.record.id) === presence;
  }

  /** One that an earlier process knew, or another instance knows. */
  restore(record: WorkerRecord, silentAfterMs: number): void {
    const known = { silentAfterMs, isStored: true };
    this.#present.set(record.id, new Presence(record, this.#parts.clock, known));
  }

  /** Whoever registers begins anew, and keeps what it holds where its process is the same. */
  enter(record: Omit<WorkerRecord, 'status'>): Arrival {
    const fresh: WorkerRecord = { ...record, status: 'CREATING' };
    const known = { silentAfterMs: silenceMs(fresh), isStored: false };
    const presence = new Presence(fresh, this.#parts.clock, known);
    presence.seen();
    const changes = [markConnecting, markReady].map((operation) => presence.apply(operation));
    this.#present.set(record.id, presence);
    return { presence, steps: changes.flatMap(({ steps }) => steps) };
  }

  /** It is stored now, so that others may hear of it. */
  welcome({ presence, steps }: Arrival, { isNew }: { readonly isNew: boolean }): void {
    const { observer } = this.#parts;
    const { id, status } = presence.record;
    presence.isStored = true;
    if (isNew) {
      observer?.onWorkerCame(id);
      for (const step of steps) observer?.onWorkerStatus(id, step);
    }
    observer?.onWorkerStatus(id, status);
    this.follow(id);
  }

  /** It could not be stored: it has to register again. */
  drop(presence: Presence): void {
    if (this.isCurrent(presence)) this.#present.delete(presence.record.id);
  }

  /** A commit gave it something, or took something from it. */
  follow(worker: string): void {
    const presence = this.#present.get(worker);
    if (presence === undefined || presence.isUnmovedBy(this.#parts.held.load(worker))) return;
    this.#follow(presence);
  }

  /** @throws CapatazError INVALID_WORKER_STATE_TRANSITION: nothing would change. */
  check(presence: Presence, operation: WorkerOperation): WorkerChange {
    this.#follow(presence);
    return presence.check(operation);
  }

  /** @throws CapatazError INVALID_WORKER_STATE_TRANSITION: nothing was changed. */
  take(presence: Presence, operation: WorkerOperation): void {
    this.#follow(presence);
    this.#apply(presence, operation);
    const { id, status } = presence.record;
    this.#parts.log.debug('a worker changed its status', { worker: id, status });
    // What does not follow from its load has to outlive this process.
    presence.isUnsaved = true;
  }

  /** It is gone, by this operation. */
  leave(presence: Presence, operation: WorkerOperation): void {
    this.take(presence, operation);
    this.drop(presence);
  }

  #follow(presence: Presence): void {
    const held = this.#parts.held.idsOf(presence.record.id);
    const { steps } = this.#apply(presence, (worker, now) => holdJobs(worker, now, held));
    if (steps.includes('TERMINATING')) presence.isUnsaved = true;
  }

  #apply(presence: Presence, operation: WorkerOperation): WorkerChange {
    const change = presence.apply(operation);
    const { observer } = this.#parts;
    for (const step of change.steps) observer?.onWorkerStatus(presence.record.id, step);
    return change;
  }
}
