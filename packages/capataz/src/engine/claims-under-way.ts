import type { Ticket } from './ticket.ts';

interface ClaimUnderWay {
  readonly max: number;
  readonly maxSuspects: number;
}

/** What has been claimed for tickets and is not answered yet. */
export class ClaimsUnderWay {
  readonly #byWorker = new Map<string, Map<Ticket, ClaimUnderWay>>();
  /** Held back by another claim of their worker: they look again when that has ended. */
  readonly #blocked = new Map<string, Set<Ticket>>();

  add(ticket: Ticket, claim: ClaimUnderWay): void {
    const { id } = ticket.worker;
    const own = this.#byWorker.get(id) ?? new Map<Ticket, ClaimUnderWay>();
    this.#byWorker.set(id, own.set(ticket, claim));
  }

  end(ticket: Ticket): void {
    const { id } = ticket.worker;
    const own = this.#byWorker.get(id);
    own?.delete(ticket);
    if (own?.size === 0) this.#byWorker.delete(id);
    this.unblock(ticket);
  }

  has(ticket: Ticket): boolean {
    return this.#byWorker.get(ticket.worker.id)?.has(ticket) ?? false;
  }

  *tickets(): Iterable<Ticket> {
    for (const own of this.#byWorker.values()) yield* own.keys();
  }

  /** Tasks that they may bring the worker. */
  mayBring(worker: string): number {
    let most = 0;
    for (const { max } of this.#byWorker.get(worker)?.values() ?? []) most += max;
    return most;
  }

  mayBringSuspect(worker: string): boolean {
    const own = this.#byWorker.get(worker)?.values() ?? [];
    return [...own].some(({ maxSuspects }) => maxSuspects > 0);
  }

  block(ticket: Ticket): void {
    const { id } = ticket.worker;
    const own = this.#blocked.get(id) ?? new Set();
    this.#blocked.set(id, own.add(ticket));
  }

  unblock(ticket: Ticket): void {
    const { id } = ticket.worker;
    const own = this.#blocked.get(id);
    own?.delete(ticket);
    if (own?.size === 0) this.#blocked.delete(id);
  }

  /** Whom a claim of this worker has held back: they are so no longer. */
  takeBlocked(worker: string): Iterable<Ticket> {
    const own = this.#blocked.get(worker) ?? [];
    this.#blocked.delete(worker);
    return own;
  }
}
