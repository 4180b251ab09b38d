import type { Channel, Envelope } from 'rabbitmq-client';
import type { Clock } from '../../std/clock.ts';
import { BusError } from '../contract.ts';
import { downError, type RabbitLink } from './link.ts';
import { declareExchange } from './topology.ts';

interface PublisherSettings {
  readonly openLink: () => Promise<RabbitLink>;
  readonly clock: Clock;
  readonly publishTimeoutMs: number;
}

interface OpenPublisher {
  readonly link: RabbitLink;
  readonly channel: Channel;
  /** Declared on this link, or being so. */
  readonly exchanges: Map<string, Promise<void>>;
}

/** Bodies of what is not confirmed are held in memory; beyond this the caller has to wait. */
const maxUnconfirmed = 1_000;

/** The link that publishes. It opens on demand, and again after a loss; it never consumes, because a broker short of memory blocks what publishes. */
export class RabbitPublisher {
  readonly #settings: PublisherSettings;
  #open: Promise<OpenPublisher> | null = null;
  #unconfirmed = 0;
  #isClosed = false;

  constructor(settings: PublisherSettings) {
    this.#settings = settings;
  }

  /** Resolves with the broker's confirmation. @throws BusError */
  async send(envelope: Envelope, body: string): Promise<void> {
    if (this.#unconfirmed >= maxUnconfirmed) {
      throw new BusError('full', `${maxUnconfirmed} events wait to be confirmed`);
    }
    this.#unconfirmed += 1;
    try {
      const open = await this.use();
      await this.#ensureExchange(open, envelope.exchange ?? '');
      await this.#confirmed(open, open.channel.basicPublish(envelope, Buffer.from(body)));
    } catch (error) {
      throw sendError(error);
    } finally {
      this.#unconfirmed -= 1;
    }
  }

  /** The open link, for the broker's other verbs too. @throws BusError */
  use(): Promise<OpenPublisher> {
    if (this.#isClosed) return Promise.reject(new BusError('closed', 'this bus was closed'));
    if (this.#open === null) {
      const opening = this.#start();
      this.#open = opening;
      // Forgotten by who opened it, and not by a later one's success.
      opening
        .then(({ link }) => link.lost)
        .finally(() => this.#forget(opening))
        .catch(() => undefined);
    }
    return this.#open;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const open = await this.#open?.catch(() => undefined);
    await open?.link.close([open.channel]);
  }

  async #start(): Promise<OpenPublisher> {
    const link = await this.#settings.openLink();
    try {
      const channel = await link.mainChannel();
      await link.inTime(channel.confirmSelect());
      return { link, channel, exchanges: new Map() };
    } catch (error) {
      link.destroy(downError(error));
      throw error;
    }
  }

  #forget(opening: Promise<OpenPublisher>): void {
    if (this.#open === opening) this.#open = null;
  }

  /** Once for each exchange and link. */
  async #ensureExchange({ link, exchanges }: OpenPublisher, exchange: string): Promise<void> {
    if (exchange === '') return;
    const declared = exchanges.get(exchange) ?? declareAlone(link, exchange);
    exchanges.set(exchange, declared);
    try {
      await declared;
    } catch (error) {
      exchanges.delete(exchange);
      throw error;
    }
  }

  /** Without an answer nobody knows what became of the event: the link is given up with all its doubts. */
  async #confirmed({ link }: OpenPublisher, confirmation: Promise<void>): Promise<void> {
    const { clock, publishTimeoutMs } = this.#settings;
    const cancel = clock.after(publishTimeoutMs, () =>
      link.destroy(new BusError('down', `not confirmed within ${publishTimeoutMs} ms`)),
    );
    try {
      await link.inTime(confirmation);
    } finally {
      cancel();
    }
  }
}

/** On a channel of its own: a refusal closes it, and shall not take along what is being published. */
async function declareAlone(link: RabbitLink, exchange: string): Promise<void> {
  const channel = await link.channel();
  await declareExchange(link, channel, exchange);
  await link.inTime(channel.close());
}

function sendError(error: unknown): BusError {
  const known = downError(error);
  const { cause } = known;
  const isNack = cause instanceof Error && 'code' in cause && cause.code === 'NACK';
  return isNack
    ? new BusError('full', 'RabbitMQ refused the event: a queue is full', { cause })
    : known;
}
