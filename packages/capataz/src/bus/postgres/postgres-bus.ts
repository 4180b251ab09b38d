import { type Place, readPlace } from '../../postgres/place.ts';
import { type Clock, systemClock } from '../../std/clock.ts';
import { type Log, silentLog } from '../../std/log.ts';
import { type Random, systemRandom } from '../../std/random.ts';
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
} from '../contract.ts';
import { BusCounts } from '../counts.ts';
import { encodeChecked, envelopeCodec } from '../envelope.ts';
import { reviewDead } from './dead-letters.ts';
import { declareName } from './declare.ts';
import { closedError, PostgresLink } from './link.ts';
import { PostgresPublisher } from './publisher.ts';
import { consume } from './subscription.ts';

export interface PostgresBusOptions {
  /**
   * `postgres://user:password@host:port/database`; `?schema=` says where the tables lie, made if it is not
   * there. Default `capataz_bus`.
   */
  readonly url: string;
  /** Shown by the server for its connections. Default `capataz`. */
  readonly name?: string;
  /** Default `envelopeCodec`. */
  readonly codec?: BusCodec;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long `publish` waits to be confirmed. Default 10 s. */
  readonly publishTimeoutMs?: number;
  readonly clock?: Clock;
  /** Names consumers to each other. */
  readonly random?: Pick<Random, 'id'>;
  readonly log?: Log;
}

/** What the server allows a statement. */
const statementTimeoutMs = 10_000;
/** On a consumer's link something is asked every 3 s, and the next events wait behind the answer. */
const consumerAnswerMs = 5_000;

/**
 * A consumer that loses what it has said in a crash of the server is handed those events again, which
 * may happen anyway: it need not wait for the disk. And the server itself ends the session of one that is
 * gone without a goodbye.
 */
const consumerParameters = { synchronous_commit: 'off', idle_session_timeout: '60000' };

/**
 * Topic exchanges and durable names in tables of PostgreSQL 14 or newer, for those who have no broker.
 * Needs the package `pg`. Connects when it is used, so that a process starts while the server is away:
 * one connection publishes, and each subscription has one.
 * @throws BusError `invalid` for a URL or a schema that is none
 */
export function createPostgresBus(options: PostgresBusOptions): Bus {
  const place = readPlace(options.url, 'capataz_bus');
  if ('problem' in place) {
    throw new BusError('invalid', `the URL of PostgreSQL ${place.problem}`);
  }
  return new PostgresBus(options, place);
}

class PostgresBus implements Bus {
  readonly #options: PostgresBusOptions;
  readonly #place: Place;
  readonly #codec: BusCodec;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #random: Pick<Random, 'id'>;
  readonly #publisher: PostgresPublisher;
  readonly #counts = new BusCounts();
  readonly #subscriptions = new Set<Subscription>();
  /** Consumers of each durable name that were lost: what they hold need not wait for the end of their leases. */
  readonly #gone = new Map<string, Set<string>>();
  #isClosed = false;

  constructor(options: PostgresBusOptions, place: Place) {
    this.#options = options;
    this.#place = place;
    this.#codec = options.codec ?? envelopeCodec;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#publisher = new PostgresPublisher(() =>
      this.#openLink('publisher', options.publishTimeoutMs ?? 10_000),
    );
  }

  async publish(exchange: string, event: BusEvent): Promise<void> {
    try {
      await this.#publisher.send(exchange, encodeChecked(this.#codec, event));
      this.#counts.published();
    } catch (error) {
      this.#counts.publishFailed(error, error instanceof BusError && error.code === 'down');
      throw error;
    }
  }

  async declare(queue: QueueOptions): Promise<void> {
    await declareName(await this.#publisher.use(), queue);
  }

  async subscribe(
    queue: QueueOptions & { readonly prefetch?: number },
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    const { durable } = queue;
    const id = this.#random.id();
    const link = await this.#openLink(durable, consumerAnswerMs, consumerParameters);
    const gone = this.#gone.get(durable) ?? new Set();
    this.#gone.set(durable, gone);
    const known = [...gone];
    void link.lost.then(({ code }) => code !== 'closed' && gone.add(id));
    const subscription = await consume(queue, receive, {
      link,
      codec: this.#codec,
      log: this.#log,
      counts: this.#counts,
      clock: this.#clock,
      id,
      gone: known,
    });
    for (const one of known) gone.delete(one);
    this.#subscriptions.add(subscription);
    void subscription.ended.then(() => this.#subscriptions.delete(subscription));
    return subscription;
  }

  async reviewDead(
    durable: string,
    decide: (letter: DeadLetter) => DeadVerdict,
    limit = 100,
  ): Promise<Record<DeadVerdict, number>> {
    const link = await this.#publisher.use();
    return reviewDead({ link, codec: this.#codec, durable, decide, limit });
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

  async #openLink(
    what: string,
    answerMs: number,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<PostgresLink> {
    if (this.#isClosed) throw closedError();
    const { name = 'capataz', connectTimeoutMs = 10_000 } = this.#options;
    const link = await PostgresLink.open({
      ...this.#place,
      name: `${name} ${what}`,
      connectTimeoutMs,
      statementTimeoutMs,
      parameters,
      answerMs,
      clock: this.#clock,
    });
    if (!this.#isClosed) return link;
    // Closed while it was being opened.
    await link.close();
    throw closedError();
  }
}
