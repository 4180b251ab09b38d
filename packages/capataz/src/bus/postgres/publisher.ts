import { BusError, type WireMessage } from '../contract.ts';
import { topicMatches } from '../topic.ts';
import { closedError, type PostgresLink } from './link.ts';

/** Bodies of what is not confirmed are held in memory; beyond this the caller has to wait. */
const maxUnconfirmed = 1_000;
/** One statement carries no more than this, unless a single event has more. */
const maxBatchEvents = 200;
const maxBatchCharacters = 4 * 1024 * 1024;

interface Waiting {
  readonly exchange: string;
  readonly message: WireMessage;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Binding {
  readonly id: number;
  readonly name: number;
  readonly exchange: string;
  readonly pattern: string;
}

interface Placed {
  readonly is_stale: boolean;
  readonly full_events: readonly number[];
}

/**
 * The link that publishes. It opens on demand, and again after a loss. What is published while it waits
 * for the server's answer travels together afterwards: one transaction, one write to the disk.
 */
export class PostgresPublisher {
  readonly #openLink: () => Promise<PostgresLink>;
  #open: Promise<PostgresLink> | null = null;
  #bindings: readonly Binding[] = [];
  #waiting: Waiting[] = [];
  #unconfirmed = 0;
  #isSending = false;
  #isClosed = false;

  constructor(openLink: () => Promise<PostgresLink>) {
    this.#openLink = openLink;
  }

  /** Resolves when it is stored under every name that it is for. @throws BusError */
  async send(exchange: string, message: WireMessage): Promise<void> {
    if (this.#isClosed) throw closedError();
    if (this.#unconfirmed >= maxUnconfirmed) {
      throw new BusError('full', `${maxUnconfirmed} events wait to be confirmed`);
    }
    this.#unconfirmed += 1;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ exchange, message, resolve, reject });
        if (!this.#isSending) void this.#sendAll();
      });
    } finally {
      this.#unconfirmed -= 1;
    }
  }

  /** The open link, for the other verbs too. @throws BusError */
  use(): Promise<PostgresLink> {
    if (this.#isClosed) return Promise.reject(closedError());
    if (this.#open === null) {
      const opening = this.#openLink();
      this.#open = opening;
      // Forgotten by who opened it, and not by a later one's success.
      opening
        .then(({ lost }) => lost)
        .finally(() => {
          if (this.#open === opening) this.#open = null;
        })
        .catch(() => undefined);
    }
    return this.#open;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const link = await this.#open?.catch(() => undefined);
    await link?.close();
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    // What the same turn of the loop publishes belongs to the first batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#sendBatch(this.#nextBatch());
    this.#isSending = false;
  }

  #nextBatch(): Waiting[] {
    let characters = 0;
    const end = this.#waiting.findIndex(({ message }, index) => {
      characters += message.body.length;
      return index === maxBatchEvents || (index > 0 && characters > maxBatchCharacters);
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #sendBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const full = await this.#place(await this.use(), batch);
      for (const [index, { message, resolve, reject }] of batch.entries()) {
        if (full.has(index + 1)) reject(new BusError('full', `no room for ${message.routingKey}`));
        else resolve();
      }
    } catch (error) {
      const isOneOfSeveral =
        batch.length > 1 && error instanceof BusError && error.code === 'invalid';
      // Nothing was stored: each alone, so that what is refused harms no other.
      if (isOneOfSeveral) for (const one of batch) await this.#sendBatch([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  /** @returns the places, from 1, of events that a name has no room for. */
  async #place(link: PostgresLink, batch: readonly Waiting[]): Promise<ReadonlySet<number>> {
    for (;;) {
      const pairs = batch.flatMap(({ exchange, message }, index) =>
        [...this.#namesFor(exchange, message.routingKey)].map((name) => ({
          name,
          event: index + 1,
        })),
      );
      const [placed] = await link.run<Placed>(
        'place',
        this.#bindings.at(-1)?.id ?? 0,
        pairs.map(({ name }) => name),
        pairs.map(({ event }) => event),
        batch.map(({ message }) => message.routingKey),
        batch.map(({ message }) => JSON.stringify(message.headers)),
        batch.map(({ message }) => message.body),
      );
      if (placed?.is_stale !== true) return new Set(placed?.full_events);
      this.#bindings = await link.run<Binding>('bindings');
    }
  }

  #namesFor(exchange: string, routingKey: string): ReadonlySet<number> {
    const fitting = this.#bindings.filter(
      (binding) => binding.exchange === exchange && topicMatches(binding.pattern, routingKey),
    );
    return new Set(fitting.map(({ name }) => name));
  }
}
