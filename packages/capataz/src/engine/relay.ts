import { type CancelTimer, type Clock, delay } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { jittered, type Random } from '../std/random.ts';
import type { OutboxEvent, OutboxVerdict, Store } from '../store/contract.ts';
import type { Committed } from './committer.ts';
import type { EngineObserver } from './observer.ts';
import { StoreTrouble } from './store-trouble.ts';

/** Where events go: a bus behind its breaker, say. */
export interface EventSink {
  /** Resolves once the event is safe there. Rejects where it was not taken. */
  publish(event: OutboxEvent): Promise<void>;
  /** Why nothing is to be tried now (an open circuit), or null. It counts as no try. */
  pausedForMs(): number | null;
  /**
   * What an error of `publish` says: `refused` of this event, which was tried once more; `spent`, which
   * makes it a dead letter at once; `away` of the way to the bus, which is no try of anything, however
   * long it lasts. Default `refused`.
   */
  judge?(error: unknown): 'refused' | 'spent' | 'away';
}

export interface RelayOptions {
  /** Tries of an event before it is a dead letter, the first one not counted. Default 5. */
  readonly maxRetries: number;
  /** Pause before the first further try, doubling. Default 5 s. */
  readonly baseMs: number;
  /** Longest pause between tries. Default 30 min. */
  readonly capMs: number;
}

export const defaultRelay: RelayOptions = { maxRetries: 5, baseMs: 5_000, capMs: 30 * 60_000 };

interface RelayParts {
  readonly store: Store;
  readonly sink: EventSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly options: RelayOptions;
  readonly observer?: Pick<EngineObserver, 'onVerdict'>;
}

/** Publishes under way at once. */
const mostFlying = 200;
const jitterShare = 0.1;
/** Looks again although nobody told it: after a failure of the store, or for another's rows. */
const lookAgainMs = 5_000;
/**
 * How long other instances leave to this one what it has asked for: it asks again several times
 * meanwhile, and what a dead one was about to publish goes out this much later.
 */
const holdMs = 30_000;

/**
 * Publishes what commits have left in the outbox. At least once: a process that dies between the bus's
 * word and the store's publishes again under the same id. Events of one job go one after the other;
 * one that the bus lets wait holds up no other job's.
 */
export class Relay {
  readonly #parts: RelayParts;
  readonly #trouble: StoreTrouble;
  /** From their publishing until their verdict is stored: until then the outbox still has them. */
  readonly #flying = new Map<string, Promise<void>>();
  #verdicts: OutboxVerdict[] = [];
  #cancelAlarm: CancelTimer = () => undefined;
  #running: Promise<void> | null = null;
  #isCalled = false;
  #isStopped = true;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'the outbox does not answer; trying again',
      ends: 'the outbox answers again',
    });
  }

  start(): void {
    this.#isStopped = false;
    this.call();
  }

  /** Waits at most so long for what the bus has not answered yet, and stores its verdicts. */
  async stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#isStopped = true;
    this.#cancelAlarm();
    await this.#running;
    const isOver = new AbortController();
    await Promise.race([
      Promise.all(this.#flying.values()),
      delay(this.#parts.clock, drainMs, isOver.signal),
    ]);
    isOver.abort();
    await this.#settle().catch((error: unknown) => this.#trouble.met(error));
  }

  onCommitted({ done }: Committed): void {
    const hasEmitted = done.some(({ request }) => (request.change.also?.emits.length ?? 0) > 0);
    if (hasEmitted) this.call();
  }

  /** Something may be there to publish, or to store. */
  call(): void {
    this.#isCalled = true;
    if (this.#running !== null || this.#isStopped) return;
    this.#cancelAlarm();
    this.#running = this.#pass().then((pauseMs) => {
      this.#running = null;
      if (this.#isStopped) return;
      this.#cancelAlarm = this.#parts.clock.after(pauseMs, () => this.call());
      if (this.#isCalled) this.call();
    });
  }

  /** @returns how long to pause, unless somebody calls. */
  async #pass(): Promise<number> {
    const { sink, store } = this.#parts;
    try {
      this.#isCalled = false;
      await this.#settle();
      const paused = sink.pausedForMs();
      if (paused !== null) return paused;
      const { events, nextInMs } = await store.outbox(mostFlying, holdMs);
      this.#trouble.isOver();
      if (!this.#isStopped) for (const event of events) this.#send(event);
      return Math.min(nextInMs ?? lookAgainMs, lookAgainMs);
    } catch (error) {
      this.#trouble.met(error);
      return lookAgainMs;
    }
  }

  #send(event: OutboxEvent): void {
    // The circuit may have opened meanwhile, and then it was not tried.
    if (this.#flying.has(event.id) || this.#parts.sink.pausedForMs() !== null) return;
    const flight = this.#publish(event).then((verdict) => {
      // Looked at again with the next pass: called at once, it would knock at a closed door for ever.
      if (verdict === null) this.#flying.delete(event.id);
      else {
        this.#verdicts.push(verdict);
        this.call();
      }
    });
    this.#flying.set(event.id, flight);
  }

  /** A verdict that can't be stored is kept: to publish again what the bus has would be worse. */
  async #settle(): Promise<void> {
    const verdicts = this.#verdicts;
    if (verdicts.length === 0) return;
    this.#verdicts = [];
    try {
      await this.#parts.store.settleOutbox(verdicts);
    } catch (error) {
      this.#verdicts = [...verdicts, ...this.#verdicts];
      throw error;
    }
    for (const { id } of verdicts) this.#flying.delete(id);
  }

  /** @returns null where it says nothing of the event. */
  async #publish(event: OutboxEvent): Promise<OutboxVerdict | null> {
    const { sink, clock, observer } = this.#parts;
    const began = clock.steady();
    const verdict = await sink.publish(event).then(
      () => ({ type: 'published', id: event.id }) as const,
      (error: unknown) => this.#failed(event, error),
    );
    observer?.onVerdict(event, verdict?.type ?? 'failed', clock.steady() - began);
    return verdict;
  }

  #failed(event: OutboxEvent, cause: unknown): OutboxVerdict | null {
    const { options, random, log, sink } = this.#parts;
    const { id, jobId, name, retryCount } = event;
    const error = cause instanceof Error ? cause.message : String(cause);
    const fields = { job: jobId, event: id, name, correlation: event.correlationId, reason: error };
    const judgement = sink.judge?.(cause) ?? 'refused';
    if (judgement === 'away') {
      log.debug('an event could not be tried', fields);
      return null;
    }
    if (retryCount >= options.maxRetries || judgement === 'spent') {
      log.error('an event is a dead letter', fields);
      return { type: 'dead', id, error };
    }
    const plainMs = Math.min(options.capMs, options.baseMs * 2 ** retryCount);
    const retryAfterMs = jittered(plainMs, jitterShare, random);
    log.warn('an event was not taken; trying again', { ...fields, afterMs: retryAfterMs });
    return { type: 'failed', id, error, retryAfterMs };
  }
}
