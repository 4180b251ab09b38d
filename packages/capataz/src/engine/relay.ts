import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { jittered, type Random } from '../std/random.ts';
import type { OutboxEvent, OutboxVerdict, Store } from '../store/contract.ts';
import type { Committed } from './committer.ts';
import type { EngineObserver } from './observer.ts';

/** Where events go: a bus behind its breaker, say. */
export interface EventSink {
  /** Resolves once the event is safe there. Rejects where it was not taken. */
  publish(event: OutboxEvent): Promise<void>;
  /** Why nothing is to be tried now (an open circuit), or null. It counts as no try. */
  pausedForMs(): number | null;
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

const pageSize = 200;
const jitterShare = 0.1;
/** Looks again although nobody told it: after a failure of the store, or for another's rows. */
const lookAgainMs = 5_000;

/**
 * Publishes what commits have left in the outbox. At least once: a process that dies between the bus's
 * word and the store's publishes again under the same id. Events of one job go one after the other.
 */
export class Relay {
  readonly #parts: RelayParts;
  #cancelAlarm: CancelTimer = () => undefined;
  #running: Promise<void> | null = null;
  #isCalled = false;
  #isStopped = true;

  constructor(parts: RelayParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#isStopped = false;
    this.call();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelAlarm();
    await this.#running;
  }

  onCommitted({ done }: Committed): void {
    const hasEmitted = done.some(({ request }) => (request.change.also?.emits.length ?? 0) > 0);
    if (hasEmitted) this.call();
  }

  /** Something may be there to publish. */
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

  /** @returns how long to pause. */
  async #pass(): Promise<number> {
    try {
      for (;;) {
        this.#isCalled = false;
        const paused = this.#parts.sink.pausedForMs();
        if (paused !== null) return paused;
        const { events, nextInMs } = await this.#parts.store.outbox(pageSize);
        if (events.length === 0 || this.#isStopped)
          return Math.min(nextInMs ?? lookAgainMs, lookAgainMs);
        const verdicts = await Promise.all(events.map((event) => this.#publish(event)));
        const settled = verdicts.filter((verdict) => verdict !== null);
        if (settled.length > 0) await this.#parts.store.settleOutbox(settled);
      }
    } catch (error) {
      this.#parts.log.error('the outbox could not be read; trying again', { error });
      return lookAgainMs;
    }
  }

  /** @returns null where it was not tried. */
  async #publish(event: OutboxEvent): Promise<OutboxVerdict | null> {
    const { sink, clock, observer } = this.#parts;
    if (sink.pausedForMs() !== null) return null;
    const began = clock.steady();
    const verdict = await sink.publish(event).then(
      () => ({ type: 'published', id: event.id }) as const,
      (error: unknown) => this.#failed(event, error),
    );
    observer?.onVerdict(event, verdict.type, clock.steady() - began);
    return verdict;
  }

  #failed(event: OutboxEvent, cause: unknown): OutboxVerdict {
    const { options, random, log } = this.#parts;
    const { id, jobId, name, retryCount } = event;
    const error = cause instanceof Error ? cause.message : String(cause);
    const fields = { job: jobId, event: id, name, correlation: event.correlationId, reason: error };
    if (retryCount >= options.maxRetries) {
      log.error('an event is a dead letter', fields);
      return { type: 'dead', id, error };
    }
    const plainMs = Math.min(options.capMs, options.baseMs * 2 ** retryCount);
    const retryAfterMs = jittered(plainMs, jitterShare, random);
    log.warn('an event was not taken; trying again', { ...fields, afterMs: retryAfterMs });
    return { type: 'failed', id, error, retryAfterMs };
  }
}
