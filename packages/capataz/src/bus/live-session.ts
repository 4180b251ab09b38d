import type { Clock } from '../std/clock.ts';
import { BusError, type Delivery, type Subscription } from './contract.ts';
import { messageOf } from './envelope.ts';
import type { Session } from './handling.ts';
import { type EventLog, Replay } from './replay.ts';

/** Where a subscriber gets its events. */
export interface EventSource {
  subscribe(receive: (delivery: Delivery) => void, buffer: number): Promise<Subscription>;
  /**
   * Where there is one, it is the truth: it is read from the stored position after each connection,
   * and a live delivery only says that there is something to read.
   */
  readonly log?: EventLog;
}

interface LiveSessionParts {
  readonly clock: Clock;
  readonly buffer: number;
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  readonly take: (delivery: Delivery, session: Session) => void;
}

/** One subscription with what belongs to it, so that nothing of an old one reaches the new. */
export class LiveSession implements Session {
  isOver = false;
  /** Why it ended: null on request. */
  readonly ended: Promise<Error | null>;
  readonly #source: EventSource;
  readonly #parts: LiveSessionParts;
  readonly #end: (error: Error | null) => void;
  #subscription: Subscription | null = null;
  #replay: Replay | null = null;
  readonly #onStop = (): void => this.#end(null);

  constructor(source: EventSource, parts: LiveSessionParts) {
    this.#source = source;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    this.ended = promise;
    this.#end = resolve;
  }

  async open(): Promise<void> {
    const { stop, buffer } = this.#parts;
    const opening = this.#source.subscribe((delivery) => this.#receive(delivery), buffer);
    const closeLate = (): void => {
      // It came after all: nobody wants it any more, and it must not stay open.
      opening.then((late) => late.close()).catch(() => undefined);
    };
    this.#subscription = await this.#inTime(opening, closeLate);
    void this.#subscription.ended.then(this.#end);
    stop.addEventListener('abort', this.#onStop, { once: true });
    // It may have come in the moment between the answer and here, which no listener hears of.
    if (stop.aborted) this.#onStop();
    try {
      await this.#startReplay();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isOver = true;
    this.#parts.stop.removeEventListener('abort', this.#onStop);
    this.#replay?.stop();
    // A link that is gone may refuse even this; it is over either way.
    await this.#subscription?.close().catch(() => undefined);
  }

  async #startReplay(): Promise<void> {
    const { clock, buffer: capacity, take } = this.#parts;
    const { log } = this.#source;
    if (log === undefined) return;
    this.#replay = new Replay({
      log,
      clock,
      capacity,
      take: (delivery) => take(delivery, this),
      fail: (error) => this.#end(error instanceof Error ? error : new Error(messageOf(error))),
    });
    await this.#inTime(this.#replay.start(), () => undefined);
  }

  #receive(delivery: Delivery): void {
    if (this.isOver) return;
    if (this.#source.log === undefined) return this.#parts.take(delivery, this);
    delivery.ack();
    this.#replay?.wake();
  }

  async #inTime<T>(promise: Promise<T>, onLate: () => void): Promise<T> {
    const { clock, timeoutMs, stop } = this.#parts;
    const gone = Promise.withResolvers<never>();
    const giveUp = (message: string) => () => gone.reject(new BusError('down', message));
    const cancel = clock.after(timeoutMs, giveUp(`no answer within ${timeoutMs} ms`));
    const onStop = giveUp('stopped');
    stop.addEventListener('abort', onStop, { once: true });
    try {
      return await Promise.race([promise, gone.promise]);
    } catch (error) {
      onLate();
      throw error;
    } finally {
      cancel();
      stop.removeEventListener('abort', onStop);
    }
  }
}
