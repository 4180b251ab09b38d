import { type Clock, systemClock } from '../../std/clock.ts';
import { type Log, silentLog } from '../../std/log.ts';
import {
  type Bus,
  type BusCodec,
  BusError,
  type BusEvent,
  type BusHealth,
  type DeadLetter,
  type DeadVerdict,
  type Delivery,
  type QueueOptions,
  type Subscription,
  type WireMessage,
} from '../contract.ts';
import { BusCounts } from '../counts.ts';
import { encodeChecked, envelopeCodec } from '../envelope.ts';
import { reviewDead } from './dead-letters.ts';
import { checkedUrl, RabbitLink } from './link.ts';
import { directEnvelope, envelopeOf } from './messages.ts';
import { RabbitPublisher } from './publisher.ts';
import { consume } from './subscription.ts';
import { deadQueue, declareQueue } from './topology.ts';

export interface RabbitBusOptions {
  /** `amqp://user:password@host:5672/vhost`, or `amqps://…`. */
  readonly url: string;
  /** Shown by the broker for its connections. Default `capataz`. */
  readonly name?: string;
  /** Default `envelopeCodec`. */
  readonly codec?: BusCodec;
  /** A link that is silent counts as lost after 2 to 2.5 times this. Default 10 s. */
  readonly heartbeatSeconds?: number;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long `publish` waits to be confirmed. Default 10 s. */
  readonly publishTimeoutMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * RabbitMQ 3.10 or newer: topic exchanges, a quorum queue for each durable name, and a queue
 * `<name>.dead` for its dead letters. Needs the package `rabbitmq-client`. Connects when it is used,
 * so that a process starts while the broker is away.
 * @throws BusError `invalid` for a URL that is none
 */
export function createRabbitBus(options: RabbitBusOptions): Bus {
  checkedUrl(options.url);
  return new RabbitBus(options);
}

class RabbitBus implements Bus {
  readonly #options: RabbitBusOptions;
  readonly #codec: BusCodec;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #publisher: RabbitPublisher;
  readonly #counts = new BusCounts();
  readonly #subscriptions = new Set<Subscription>();
  #isClosed = false;

  constructor(options: RabbitBusOptions) {
    this.#options = options;
    this.#codec = options.codec ?? envelopeCodec;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#publisher = new RabbitPublisher({
      openLink: () => this.#openLink('publisher'),
      clock: this.#clock,
      publishTimeoutMs: options.publishTimeoutMs ?? 10_000,
    });
  }

  async publish(exchange: string, event: BusEvent): Promise<void> {
    try {
      const message = encodeChecked(this.#codec, event);
      await this.#publisher.send(envelopeOf(message, exchange, event), message.body);
      this.#counts.published();
    } catch (error) {
      this.#counts.publishFailed(error, error instanceof BusError && error.code === 'down');
      throw error;
    }
  }

  async declare(queue: QueueOptions): Promise<void> {
    const { link } = await this.#publisher.use();
    // A channel of its own: a refusal closes it, and shall not take what is being published along.
    const channel = await link.channel();
    await declareQueue(link, channel, queue);
    await link.inTime(channel.close());
  }

  async subscribe(
    queue: QueueOptions & { readonly prefetch?: number },
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    const link = await this.#openLink(queue.durable);
    const subscription = await consume(queue, receive, {
      link,
      codec: this.#codec,
      log: this.#log,
      counts: this.#counts,
      bury: (...letter) => this.#bury(...letter),
    });
    this.#subscriptions.add(subscription);
    void subscription.ended.then(() => this.#subscriptions.delete(subscription));
    return subscription;
  }

  async reviewDead(
    durable: string,
    decide: (letter: DeadLetter) => DeadVerdict,
    limit = 100,
  ): Promise<Record<DeadVerdict, number>> {
    const publisher = this.#publisher;
    const { link } = await publisher.use();
    return reviewDead({ link, publisher, codec: this.#codec, durable, decide, limit });
  }

  health(): BusHealth {
    return this.#counts.health();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const subscriptions = [...this.#subscriptions];
    await Promise.all(subscriptions.map((subscription) => subscription.close()));
    await this.#publisher.close();
  }

  async #openLink(what: string): Promise<RabbitLink> {
    if (this.#isClosed) throw new BusError('closed', 'this bus was closed');
    const {
      url,
      name = 'capataz',
      heartbeatSeconds = 10,
      connectTimeoutMs = 10_000,
    } = this.#options;
    const link = await RabbitLink.open({
      url,
      name: `${name} ${what}`,
      heartbeatSeconds,
      connectTimeoutMs,
      clock: this.#clock,
    });
    if (!this.#isClosed) return link;
    // Closed while it was being opened.
    await link.close([]);
    throw new BusError('closed', 'this bus was closed');
  }

  #bury(durable: string, message: WireMessage, reason: string): Promise<void> {
    return this.#publisher.send(directEnvelope(message, deadQueue(durable), reason), message.body);
  }
}
