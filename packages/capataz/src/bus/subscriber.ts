import { type Clock, delay, systemClock } from '../std/clock.ts';
import { type Log, silentLog } from '../std/log.ts';
import { type Random, systemRandom } from '../std/random.ts';
import type { Bus, QueueOptions } from './contract.ts';
import { messageOf } from './envelope.ts';
import {
  type EventHandler,
  Handling,
  type HandlingCounts,
  type HandlingSettings,
  handlingDefaults,
  type Session,
  type Trouble,
} from './handling.ts';
import { type EventSource, LiveSession } from './live-session.ts';
import { nominalDelayMs, type ReconnectPolicy, reconnectPolicy, shortened } from './reconnect.ts';

export function busSource(bus: Bus, queue: QueueOptions): EventSource {
  return { subscribe: (receive, prefetch) => bus.subscribe({ ...queue, prefetch }, receive) };
}

export interface SubscriberOptions extends Partial<HandlingSettings> {
  /** For the log. */
  readonly name: string;
  readonly source: EventSource;
  readonly handle: EventHandler;
  readonly reconnect?: Partial<ReconnectPolicy>;
  /** Most events that are held and not settled: the source waits with further ones. Default 100. */
  readonly buffer?: number;
  /** How long `stop` waits for handlers. Default 10 s. */
  readonly stopGraceMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Everything that goes wrong, also what is mended afterwards. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /** After each change of `status`. */
  readonly onChange?: (health: SubscriberHealth) => void;
}

/** `down` from a loss or a failed attempt to the next success. */
export type SubscriberStatus = 'connecting' | 'live' | 'down' | 'gave_up' | 'stopped';

export interface SubscriberHealth {
  readonly status: SubscriberStatus;
  /** Since when, ms since 1970. */
  readonly since: number;
  /** Failed attempts since the last healthy connection. */
  readonly failedAttempts: number;
  /** The wait that runs, without its jitter; null where none does. */
  readonly nominalDelayMs: number | null;
  readonly lastError: string | null;
  readonly connections: number;
  readonly losses: number;
  /** Events that are held, at most `buffer`. */
  readonly held: number;
  readonly events: HandlingCounts;
}

export interface Subscriber {
  /** Never rejects. */
  readonly ended: Promise<'stopped' | 'gave_up'>;
  health(): SubscriberHealth;
  /** Waits for handlers at work and ends the subscription. What was not handled stays with the bus. */
  stop(): Promise<void>;
}

/**
 * Keeps a subscription alive whatever happens to the bus, and hands its events to `handle`: at least
 * once, and as a rule once. @throws RangeError for settings that make no sense
 */
export function createSubscriber(options: SubscriberOptions): Subscriber {
  return new ResilientSubscriber(options);
}

class ResilientSubscriber implements Subscriber {
  readonly ended: Promise<'stopped' | 'gave_up'>;
  readonly #options: SubscriberOptions;
  readonly #policy: ReconnectPolicy;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #handling: Handling;
  readonly #buffer: number;
  readonly #stopping = new AbortController();
  #status: SubscriberStatus = 'connecting';
  #since: number;
  #isHealthy = false;
  #failedAttempts = 0;
  #waits = 0;
  #nominalDelayMs: number | null = null;
  #lastError: string | null = null;
  #connections = 0;
  #losses = 0;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#policy = reconnectPolicy(options.reconnect);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#log = (options.log ?? silentLog).child({ subscriber: options.name });
    this.#buffer = options.buffer ?? 100;
    this.#since = this.#clock.now();
    this.#handling = new Handling(handlingSettings(options, this.#buffer), {
      clock: this.#clock,
      random: this.#random,
      log: this.#log,
      handle: options.handle,
      onTrouble: (trouble) => options.onTrouble?.(trouble),
    });
    this.ended = this.#run();
  }

  health(): SubscriberHealth {
    return {
      status: this.#status,
      since: this.#since,
      failedAttempts: this.#failedAttempts,
      nominalDelayMs: this.#nominalDelayMs,
      lastError: this.#lastError,
      connections: this.#connections,
      losses: this.#losses,
      held: this.#handling.held,
      events: this.#handling.counts,
    };
  }

  async stop(): Promise<void> {
    // Before the subscription ends, so that what is at work can still be acknowledged.
    await this.#handling.stop(this.#options.stopGraceMs ?? 10_000);
    this.#stopping.abort();
    await this.ended;
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<'stopped' | 'gave_up'> {
    // Begins after the constructor, so that callbacks meet a whole subscriber.
    await Promise.resolve();
    while (!this.#isStopping) {
      const elapsedMs = await this.#connectAndStay();
      if (this.#isStopping) break;
      const { maxAttempts } = this.#policy;
      if (maxAttempts > 0 && this.#failedAttempts >= maxAttempts) return this.#giveUp();
      await this.#pause(elapsedMs);
    }
    this.#become('stopped');
    return 'stopped';
  }

  /** One connection, from the attempt to its end. @returns what a failed attempt took, else 0. */
  async #connectAndStay(): Promise<number> {
    const startedAt = this.#clock.steady();
    this.#isHealthy = false;
    const session = new LiveSession(this.#options.source, {
      clock: this.#clock,
      buffer: this.#buffer,
      timeoutMs: this.#policy.attemptTimeoutMs,
      stop: this.#stopping.signal,
      take: (delivery, taker) => {
        if (!this.#isStopping) this.#healthy();
        this.#handling.take(delivery, taker);
      },
    });
    try {
      await session.open();
    } catch (error) {
      this.#failed(error, session);
      return this.#clock.steady() - startedAt;
    }
    this.#connections += 1;
    this.#lastError = null;
    this.#become('live');
    const cancelHealthy = this.#clock.after(this.#policy.healthyAfterMs, () => this.#healthy());
    const error = await session.ended;
    cancelHealthy();
    this.#lost(error, session);
    await session.close();
    return 0;
  }

  #healthy(): void {
    this.#isHealthy = true;
    this.#failedAttempts = 0;
    this.#waits = 0;
  }

  #failed(error: unknown, session: Session): void {
    this.#handling.forget(session);
    if (this.#isStopping) return;
    this.#failedAttempts += 1;
    this.#report('could not subscribe', error);
  }

  #lost(error: Error | null, session: Session): void {
    this.#handling.forget(session);
    if (this.#isStopping) return;
    this.#losses += 1;
    // One that never proved itself was an attempt that failed.
    if (!this.#isHealthy) this.#failedAttempts += 1;
    this.#report('lost the subscription', error ?? new Error('the bus ended it'));
  }

  #report(what: string, error: unknown): void {
    this.#lastError = messageOf(error);
    this.#become('down');
    this.#log.warn(`bus: ${what}`, { error, failedAttempts: this.#failedAttempts });
    this.#options.onTrouble?.({ kind: 'link', message: `${what}: ${this.#lastError}` });
  }

  #giveUp(): 'gave_up' {
    this.#become('gave_up');
    const message = `gave up after ${this.#failedAttempts} attempts: ${this.#lastError}`;
    this.#log.error(`bus: ${message}`);
    this.#options.onTrouble?.({ kind: 'gave_up', message });
    return 'gave_up';
  }

  /**
   * Delays run from attempt to attempt: one that hung before it failed is not waited for twice, and
   * the next begins within 57 s of a bus that is back (H-q). Never shorter than the first delay.
   */
  async #pause(elapsedMs: number): Promise<void> {
    const nominalMs = nominalDelayMs(this.#policy, this.#waits);
    this.#waits += 1;
    this.#nominalDelayMs = nominalMs;
    const shortestMs = shortened(this.#policy.initialDelayMs, this.#random);
    const leftMs = shortened(nominalMs, this.#random) - elapsedMs;
    await delay(this.#clock, Math.max(leftMs, shortestMs), this.#stopping.signal);
    this.#nominalDelayMs = null;
  }

  #become(status: SubscriberStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    this.#since = this.#clock.now();
    this.#options.onChange?.(this.health());
  }
}

function handlingSettings(options: SubscriberOptions, buffer: number): HandlingSettings {
  const given = Object.entries(options).filter(([name]) => name in handlingDefaults);
  const settings: HandlingSettings = { ...handlingDefaults, ...Object.fromEntries(given) };
  for (const [name, value] of [...Object.entries(settings), ['buffer', buffer] as const]) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`${name} must be a whole number above 0`);
    }
  }
  return settings;
}
