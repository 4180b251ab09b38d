import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { BusEvent, Delivery } from './contract.ts';
import { messageOf } from './envelope.ts';
import { shortened } from './reconnect.ts';
import { SeenIds } from './seen-ids.ts';

/** What a handler may say instead of nothing: the event will never be of use, however often it comes. */
export interface Refusal {
  readonly deadLetter: string;
}

/** Resolves when what the event asks for is stored: only then it is acknowledged. */
export type EventHandler = (
  event: BusEvent,
  context: { readonly signal: AbortSignal; readonly deliveries: number },
) => Promise<Refusal | void> | Refusal | void;

export interface HandlingSettings {
  /** Events at work at once. With 1, the default, they are begun in their order. */
  readonly concurrency: number;
  /** Failures of the handler until the event becomes a dead letter. Default 5. */
  readonly maxFailures: number;
  /** Wait before the second try of an event, doubled for each further one, at most 30 s. Default 1 s. */
  readonly retryDelayMs: number;
  /** A handler that takes longer has failed; its signal is aborted. Default 5 min. */
  readonly handlerTimeoutMs: number;
  /** Ids of handled events that are remembered. Default 10,000. */
  readonly seenIds: number;
}

export const handlingDefaults: HandlingSettings = {
  concurrency: 1,
  maxFailures: 5,
  retryDelayMs: 1_000,
  handlerTimeoutMs: 300_000,
  seenIds: 10_000,
};

const maxRetryDelayMs = 30_000;

export interface HandlingCounts {
  readonly received: number;
  readonly handled: number;
  readonly duplicates: number;
  readonly failures: number;
  readonly deadLettered: number;
}

export interface Trouble {
  readonly kind: 'link' | 'gave_up' | 'handler' | 'dead_letter';
  readonly message: string;
  readonly event?: BusEvent;
}

interface HandlingParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly handle: EventHandler;
  readonly onTrouble: (trouble: Trouble) => void;
}

/** One connection to the bus; what came over it can't be settled once it is over. */
export interface Session {
  isOver: boolean;
}

interface Copy {
  readonly delivery: Delivery;
  readonly session: Session;
}

/**
 * An event on its way through.
 * - `queued`: waits for its turn. → running, or forgotten with its session.
 * - `running`: with the handler. Survives its session: the event that is handed out again then joins
 *   as a further copy and shares the outcome, instead of running beside itself.
 * - `aside`: failed and waits to be tried again, while later events pass.
 */
interface Entry {
  readonly event: BusEvent;
  copies: Copy[];
  failures: number;
  state: 'queued' | 'running' | 'aside';
  cancelRetry: CancelTimer;
  /** Aborts the run that is under way. */
  abort: AbortController;
}

/** Runs the handler: each event once at a time, again after failures, in the end a dead letter. */
export class Handling {
  readonly #settings: HandlingSettings;
  readonly #parts: HandlingParts;
  readonly #entries = new Map<string, Entry>();
  readonly #seen: SeenIds;
  #queue: Entry[] = [];
  #running = 0;
  #isStopping = false;
  #onIdle: () => void = () => undefined;
  readonly #counts = { received: 0, handled: 0, duplicates: 0, failures: 0, deadLettered: 0 };

  constructor(settings: HandlingSettings, parts: HandlingParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#seen = new SeenIds(settings.seenIds);
  }

  get counts(): HandlingCounts {
    return { ...this.#counts };
  }

  /** Events that are held, at work or not. */
  get held(): number {
    return this.#entries.size;
  }

  take(delivery: Delivery, session: Session): void {
    // What comes while stopping goes back when the subscription is closed.
    if (this.#isStopping) return;
    this.#counts.received += 1;
    const { event } = delivery;
    const known = this.#entries.get(event.id);
    if (known !== undefined) {
      this.#counts.duplicates += 1;
      known.copies.push({ delivery, session });
      return;
    }
    if (this.#seen.has(event.id)) {
      this.#counts.duplicates += 1;
      delivery.ack();
      return;
    }
    const entry: Entry = {
      event,
      copies: [{ delivery, session }],
      failures: 0,
      state: 'queued',
      cancelRetry: () => undefined,
      abort: new AbortController(),
    };
    this.#entries.set(event.id, entry);
    this.#queue.push(entry);
    this.#pump();
  }

  /** The session is over: what is not running will be handed out again by the next. */
  forget(session: Session): void {
    session.isOver = true;
    for (const entry of this.#entries.values()) {
      entry.copies = entry.copies.filter((copy) => !copy.session.isOver);
      if (entry.copies.length === 0 && entry.state !== 'running') this.#remove(entry);
    }
    this.#queue = this.#queue.filter(({ copies }) => copies.length > 0);
  }

  /** Begins nothing any more, and resolves when nothing runs; after `graceMs` it aborts and waits no longer. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const entry of this.#entries.values()) {
      if (entry.state === 'aside') entry.cancelRetry();
    }
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#parts.clock.after(graceMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    for (const { abort } of this.#entries.values()) abort.abort();
  }

  #pump(): void {
    while (!this.#isStopping && this.#running < this.#settings.concurrency) {
      const entry = this.#queue.shift();
      if (entry === undefined) return;
      entry.state = 'running';
      this.#running += 1;
      void this.#run(entry);
    }
  }

  async #run(entry: Entry): Promise<void> {
    try {
      const refusal = await this.#callHandler(entry);
      if (refusal === undefined) this.#finish(entry);
      else await this.#bury(entry, refusal.deadLetter);
    } catch (error) {
      await this.#failed(entry, error);
    }
    this.#running -= 1;
    if (this.#running === 0) this.#onIdle();
    this.#pump();
  }

  async #callHandler(entry: Entry): Promise<Refusal | undefined> {
    const { event, copies } = entry;
    const abort = new AbortController();
    entry.abort = abort;
    const { handlerTimeoutMs } = this.#settings;
    const timeout = Promise.withResolvers<never>();
    const cancel = this.#parts.clock.after(handlerTimeoutMs, () => {
      const error = new Error(`the handler took longer than ${handlerTimeoutMs} ms`);
      timeout.reject(error);
      abort.abort(error);
    });
    try {
      const { signal } = abort;
      const deliveries = copies[0]?.delivery.deliveries ?? 1;
      const handled = (async () => this.#parts.handle(event, { signal, deliveries }))();
      return (await Promise.race([handled, timeout.promise])) ?? undefined;
    } finally {
      cancel();
    }
  }

  #finish(entry: Entry): void {
    this.#counts.handled += 1;
    this.#seen.add(entry.event.id);
    this.#remove(entry);
    for (const { delivery } of entry.copies) delivery.ack();
  }

  async #failed(entry: Entry, error: unknown): Promise<void> {
    this.#counts.failures += 1;
    entry.failures += 1;
    this.#tell({ kind: 'handler', message: messageOf(error), event: entry.event }, error);
    if (entry.failures >= this.#settings.maxFailures) {
      await this.#bury(entry, `failed ${entry.failures} times: ${messageOf(error)}`);
    } else this.#setAside(entry);
  }

  /** Not remembered as seen: a dead letter that is brought back shall be handled. */
  async #bury(entry: Entry, reason: string): Promise<void> {
    const [first, ...others] = entry.copies;
    // Its link is lost: the next session hands it out again, and it fails again.
    if (first === undefined) return this.#remove(entry);
    try {
      await first.delivery.deadLetter(reason);
    } catch (error) {
      // Kept, and buried by its next failure: better once too often in the handler than lost.
      this.#tell({ kind: 'dead_letter', message: messageOf(error), event: entry.event }, error);
      return this.#setAside(entry);
    }
    this.#counts.deadLettered += 1;
    this.#tell({ kind: 'dead_letter', message: reason, event: entry.event });
    this.#remove(entry);
    for (const { delivery } of others) delivery.ack();
  }

  #setAside(entry: Entry): void {
    if (entry.copies.length === 0) return this.#remove(entry);
    entry.state = 'aside';
    if (this.#isStopping) return;
    const { clock, random } = this.#parts;
    const doublings = Math.max(0, entry.failures - 1);
    const nominalMs = Math.min(this.#settings.retryDelayMs * 2 ** doublings, maxRetryDelayMs);
    entry.cancelRetry = clock.after(shortened(nominalMs, random), () => {
      entry.state = 'queued';
      this.#queue.push(entry);
      this.#pump();
    });
  }

  #remove(entry: Entry): void {
    entry.cancelRetry();
    this.#entries.delete(entry.event.id);
  }

  #tell(trouble: Trouble, error?: unknown): void {
    const { event } = trouble;
    this.#parts.log.warn(`bus: ${trouble.kind}: ${trouble.message}`, {
      ...(event === undefined
        ? {}
        : { job: event.job, correlation: event.correlationId, event: event.name, id: event.id }),
      ...(error === undefined ? {} : { error }),
    });
    this.#parts.onTrouble(trouble);
  }
}
