import type { Clock } from '../std/clock.ts';
import { type Log, silentLog } from '../std/log.ts';
import {
  type Bus,
  type BusCodec,
  BusError,
  type BusEvent,
  type BusHealth,
  type DeadLetter,
  type DeadVerdict,
  type Delivery,
  defaultMaxDeliveries,
  defaultPrefetch,
  type QueueOptions,
  type Subscription,
  type WireMessage,
} from './contract.ts';
import { BusCounts } from './counts.ts';
import { decodeSafely, encodeChecked, envelopeCodec } from './envelope.ts';
import { type Consumer, type Held, InProcessQueue } from './in-process-queue.ts';
import { topicMatches } from './topic.ts';

export interface InProcessBusOptions {
  readonly clock: Clock;
  readonly log?: Log;
  /** Default `envelopeCodec`. */
  readonly codec?: BusCodec;
  /**
   * When `publish` resolves: `placed` as soon as every bound name has the event; `handled` when every
   * one has acknowledged it, and it is refused as `given_up` where one made it a dead letter. Then an
   * outbox before the bus has what would lie in memory alone. Default `placed`.
   */
  readonly confirm?: 'placed' | 'handled';
  /** How long `publish` waits for room before it is refused as `full`. Default 30 s. */
  readonly fullTimeoutMs?: number;
}

/** Room is taken by those who wait for it too; more than this wait for nothing. */
const maxWaitingPublishers = 1_000;
const defaultMaxLength = 10_000;

/**
 * The bus without a broker. Durable names live as long as the object; everything else is as with
 * RabbitMQ, also that events cross as text, so that nobody shares an object with anybody.
 */
export function createInProcessBus(options: InProcessBusOptions): Bus {
  return new InProcessBus(options);
}

class InProcessBus implements Bus {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #codec: BusCodec;
  readonly #fullTimeoutMs: number;
  readonly #isConfirmedByHandling: boolean;
  /** Of what is published and not handled yet. */
  readonly #unconfirmed = new Set<(error: BusError) => void>();
  readonly #queues = new Map<string, InProcessQueue>();
  readonly #counts = new BusCounts();
  readonly #subscriptions = new Set<Subscription>();
  /** Those who wait for room, in order: none overtakes another on the same exchange. */
  #publishers: WaitingPublisher[] = [];
  #isClosed = false;

  constructor({ clock, log, codec, fullTimeoutMs, confirm = 'placed' }: InProcessBusOptions) {
    this.#isConfirmedByHandling = confirm === 'handled';
    this.#clock = clock;
    this.#log = log ?? silentLog;
    this.#codec = codec ?? envelopeCodec;
    this.#fullTimeoutMs = fullTimeoutMs ?? 30_000;
  }

  async publish(exchange: string, event: BusEvent): Promise<void> {
    try {
      this.#assertOpen();
      await this.#place(exchange, encodeChecked(this.#codec, event));
      this.#counts.published();
    } catch (error) {
      this.#counts.publishFailed(error, false);
      throw error;
    }
  }

  async declare(options: QueueOptions): Promise<void> {
    this.#assertOpen();
    this.#queueOf(options);
  }

  async subscribe(
    options: QueueOptions & { readonly prefetch?: number },
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    this.#assertOpen();
    const queue = this.#queueOf(options);
    const consumer: Consumer = {
      prefetch: options.prefetch ?? defaultPrefetch,
      unsettled: new Set(),
      // Never from within a call to the bus: the consumer may call it in turn.
      give: (held) => queueMicrotask(() => this.#give({ queue, consumer, held, receive })),
    };
    const { promise: ended, resolve } = Promise.withResolvers<Error | null>();
    const subscription: Subscription = {
      ended,
      close: async () => {
        queue.leave(consumer);
        this.#subscriptions.delete(subscription);
        this.#letIn();
        resolve(null);
      },
    };
    this.#subscriptions.add(subscription);
    queue.join(consumer);
    return subscription;
  }

  async reviewDead(
    durable: string,
    decide: (letter: DeadLetter) => DeadVerdict,
    limit = 100,
  ): Promise<Record<DeadVerdict, number>> {
    this.#assertOpen();
    const counts = { keep: 0, redrive: 0, drop: 0 };
    const queue = this.#queues.get(durable);
    if (queue === undefined) return counts;
    const reviewed = queue.dead.slice(0, limit);
    const kept = queue.dead.slice(limit);
    queue.dead = [];
    const back: WireMessage[] = [];
    const keep = reviewed.filter(({ message, reason }) => {
      const decoded = decodeSafely(this.#codec, message);
      const verdict = decide({ event: decoded.ok ? decoded.event : null, message, reason });
      counts[verdict] += 1;
      if (verdict === 'redrive') back.push(message);
      return verdict === 'keep';
    });
    queue.dead = [...keep, ...kept, ...queue.dead];
    for (const message of back) queue.add(message);
    return counts;
  }

  health(): BusHealth {
    return this.#counts.health();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#letIn();
    for (const reject of this.#unconfirmed) reject(new BusError('closed', 'this bus was closed'));
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new BusError('closed', 'this bus was closed');
  }

  #queueOf({
    durable,
    exchange,
    patterns,
    maxDeliveries,
    maxLength,
  }: QueueOptions): InProcessQueue {
    const limits = {
      maxDeliveries: maxDeliveries ?? defaultMaxDeliveries,
      maxLength: maxLength ?? defaultMaxLength,
      keepsDead: !this.#isConfirmedByHandling,
    };
    const queue = this.#queues.get(durable) ?? new InProcessQueue(limits);
    this.#queues.set(durable, queue);
    for (const pattern of patterns) {
      const isKnown = queue.bindings.some(
        (known) => known.exchange === exchange && known.pattern === pattern,
      );
      if (!isKnown) queue.bindings.push({ exchange, pattern });
    }
    return queue;
  }

  /**
   * Into all bound names or, where one has no room yet, into none: a refused event is nowhere.
   * @returns the confirmation; null where there is no room.
   */
  #tryToPlace(exchange: string, message: WireMessage): Promise<void> | null {
    const bound = [...this.#queues.values()].filter(({ bindings }) =>
      bindings.some(
        (binding) =>
          binding.exchange === exchange && topicMatches(binding.pattern, message.routingKey),
      ),
    );
    if (!bound.every(({ hasRoom }) => hasRoom)) return null;
    if (this.#isConfirmedByHandling) return this.#handled(bound, message);
    for (const queue of bound) queue.add(message);
    return Promise.resolve();
  }

  async #handled(bound: readonly InProcessQueue[], message: WireMessage): Promise<void> {
    const copies = bound.map(
      (queue) =>
        new Promise<void>((resolve, reject) => {
          this.#unconfirmed.add(reject);
          queue.add(message, (reason) => {
            this.#unconfirmed.delete(reject);
            if (reason === null) resolve();
            else reject(new BusError('given_up', reason));
          });
        }),
    );
    await Promise.all(copies);
  }

  #place(exchange: string, message: WireMessage): Promise<void> {
    const isBehind = this.#publishers.some((publisher) => publisher.exchange === exchange);
    const confirmed = isBehind ? null : this.#tryToPlace(exchange, message);
    if (confirmed !== null) return confirmed;
    if (this.#publishers.length >= maxWaitingPublishers) {
      return Promise.reject(new BusError('full', 'too many publishers wait for room'));
    }
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(this.#fullTimeoutMs, () => {
        this.#publishers = this.#publishers.filter((other) => other !== publisher);
        reject(new BusError('full', `no room for ${message.routingKey} on ${exchange}`));
        this.#letIn();
      });
      const publisher: WaitingPublisher = {
        exchange,
        tryNow: () => {
          if (this.#isClosed) {
            reject(new BusError('closed', 'this bus was closed'));
          } else {
            const placed = this.#tryToPlace(exchange, message);
            if (placed === null) return false;
            resolve(placed);
          }
          cancel();
          return true;
        },
      };
      this.#publishers.push(publisher);
    });
  }

  /** One whose exchange has no room does not hold up those of other exchanges. */
  #letIn(): void {
    const stuck = new Set<string>();
    this.#publishers = this.#publishers.filter(({ exchange, tryNow }) => {
      if (!stuck.has(exchange) && tryNow()) return false;
      stuck.add(exchange);
      return true;
    });
  }

  #give(handOut: HandOut): void {
    const { queue, consumer, held, receive } = handOut;
    // The subscription was closed between the hand-out and now.
    if (!consumer.unsettled.has(held)) return;
    const decoded = decodeSafely(this.#codec, held.message);
    if (!decoded.ok) {
      this.#counts.undecodable += 1;
      this.#log.warn('a message of the bus can’t be read', { problem: decoded.problem });
      this.#bury(handOut, `undecodable: ${decoded.problem}`);
      return;
    }
    receive({
      event: decoded.event,
      deliveries: held.deliveries,
      ack: () => {
        queue.settle(consumer, held, null);
        this.#letIn();
      },
      release: () => {
        queue.release(consumer, held);
        this.#letIn();
      },
      deadLetter: async (reason) => this.#bury(handOut, reason),
    });
  }

  #bury({ queue, consumer, held }: HandOut, reason: string): void {
    if (!queue.settle(consumer, held, reason)) return;
    this.#counts.deadLettered += 1;
    this.#letIn();
  }
}

interface WaitingPublisher {
  readonly exchange: string;
  readonly tryNow: () => boolean;
}

interface HandOut {
  readonly queue: InProcessQueue;
  readonly consumer: Consumer;
  readonly held: Held;
  readonly receive: (delivery: Delivery) => void;
}
