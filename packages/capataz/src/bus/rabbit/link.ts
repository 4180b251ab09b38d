import type { Channel, Connection } from 'rabbitmq-client';
import { type Clock, delay } from '../../std/clock.ts';
import { BusError } from '../contract.ts';
import { messageOf } from '../envelope.ts';

export interface LinkSettings {
  readonly url: string;
  readonly name: string;
  readonly heartbeatSeconds: number;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

/** A polite end needs an answer of the broker; a link that is silent is cut after this long. */
const closeTimeoutMs = 2_000;

/**
 * One connection to the broker, until its first error. The driver would mend it by itself, with
 * delays of its own and consumers that nobody outside could see or stop; here a loss is an end, and
 * whoever needs a link opens the next.
 */
export class RabbitLink {
  /** Resolves when it is lost or closed. */
  readonly lost: Promise<BusError>;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #lose: (error: BusError) => void;
  readonly #waiting = new Set<(error: BusError) => void>();
  #error: BusError | null = null;
  #isClosing = false;

  private constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<BusError>();
    this.lost = promise;
    this.#lose = resolve;
    // Also what only one channel has done wrong: no part of a link outlives its error.
    connection.on('error', (error: unknown) => this.destroy(downError(error)));
  }

  /** @throws BusError */
  static async open(settings: LinkSettings): Promise<RabbitLink> {
    const { Connection } = await loadDriver();
    const connection = new Connection({
      url: checkedUrl(settings.url),
      connectionName: settings.name,
      heartbeat: settings.heartbeatSeconds,
      connectionTimeout: settings.connectTimeoutMs,
      acquireTimeout: settings.connectTimeoutMs,
    });
    const link = new RabbitLink(connection, settings.clock);
    const connected = new Promise<null>((resolve) =>
      connection.on('connection', () => resolve(null)),
    );
    const error = await Promise.race([connected, link.lost]);
    if (error !== null) throw error;
    return link;
  }

  get isOpen(): boolean {
    return this.#error === null;
  }

  channel(): Promise<Channel> {
    return this.inTime(this.#connection.acquire());
  }

  /** The channel that the link is for: when the broker closes it the link is lost, so that one thing is up or down. */
  async mainChannel(): Promise<Channel> {
    const channel = await this.channel();
    const lose = (): void => {
      if (!this.#isClosing) this.destroy(new BusError('down', 'RabbitMQ closed the channel'));
    };
    // A connection that is lost closes its channels first, and says why right afterwards.
    channel.once('close', () => queueMicrotask(lose));
    return channel;
  }

  /** What the broker answers, or the error of the link: the driver leaves some calls without either. */
  inTime<T>(answer: Promise<T>): Promise<T> {
    if (this.#error !== null) {
      answer.catch(() => undefined);
      return Promise.reject(this.#error);
    }
    // Not a race with `lost`, which would keep a callback of each call for as long as the link lives.
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      answer
        .then(resolve, (error: unknown) => reject(downError(error)))
        .finally(() => this.#waiting.delete(reject));
    });
  }

  /** Sends what is under way, says goodbye, and is gone in any case. */
  async close(channels: readonly Channel[]): Promise<void> {
    if (this.#error !== null) return;
    this.#isClosing = true;
    const goodbye = Promise.all(channels.map((channel) => channel.close()))
      .then(() => this.#connection.close())
      .catch(() => undefined);
    const timer = new AbortController();
    await Promise.race([goodbye, delay(this.#clock, closeTimeoutMs, timer.signal)]);
    timer.abort();
    this.destroy(new BusError('closed', 'the link was closed'));
  }

  destroy(error: BusError): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#connection.unsafeDestroy();
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
    this.#lose(error);
  }
}

/** Only who uses RabbitMQ needs the driver. */
async function loadDriver(): Promise<Pick<typeof import('rabbitmq-client'), 'Connection'>> {
  try {
    return await import('rabbitmq-client');
  } catch (cause) {
    const message = 'RabbitMQ needs the package rabbitmq-client: npm install rabbitmq-client';
    throw new BusError('not_installed', message, { cause });
  }
}

function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(url) !== '';
  } catch {
    return false;
  }
}

/** The URL holds a password, so that no part of it is repeated in an error. */
export function checkedUrl(url: string): string {
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if ((protocol === 'amqp:' || protocol === 'amqps:') && isDecodable(url)) return url;
  throw new BusError('invalid', 'the URL of RabbitMQ must be amqp://user:password@host:port/vhost');
}

/**
 * The broker closes a channel over what it will never take: a name that is reserved, or of another
 * kind. Whatever it closes the connection for, a wrong password say, is about all events alike.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'AMQPChannelError';
}

export function downError(error: unknown): BusError {
  if (error instanceof BusError) return error;
  const code = isRefusal(error) ? 'invalid' : 'down';
  // The driver puts a code in front, also where it has none.
  const said = messageOf(error).replace(/^undefined: /, '');
  return new BusError(code, `RabbitMQ: ${said}`, { cause: error });
}
