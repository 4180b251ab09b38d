import type { Client } from 'pg';
import { clientConfig, type Driver, type DriverSettings } from '../../postgres/driver.ts';
import { type CancelTimer, type Clock, delay } from '../../std/clock.ts';
import type { Log } from '../../std/log.ts';
import type { News } from '../contract.ts';
import { enter } from './occupancy.ts';

export interface WakeUpParts {
  readonly driver: Driver;
  readonly settings: DriverSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** The id under which this store's own commits are told. */
  readonly own: string;
}

/** Nobody depends on being told: what was missed is found by looking, this often. */
const lookEveryMs = 15_000;
const firstRetryMs = 250;
const longestRetryMs = 10_000;

/**
 * Tells when other instances have committed something, so that this one looks whether it is for it.
 * A message carries only the id of whoever wrote: all truth is in the tables. The connection is opened
 * by the first listener. It is replaced when it is lost, and after that, as every now and then, the
 * listeners look as if they had been told.
 */
export class WakeUps {
  readonly #parts: WakeUpParts;
  readonly #listeners = new Set<(news: News) => void>();
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #cancelLook: CancelTimer = () => undefined;
  #client: Client | null = null;
  #isDeaf = false;

  constructor(parts: WakeUpParts) {
    this.#parts = parts;
  }

  /** @returns a function that ends it. */
  subscribe(listener: (news: News) => void): () => void {
    this.#listeners.add(listener);
    this.#running ??= this.#run();
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelLook();
    this.#client?.end().catch(() => undefined);
    await this.#running;
  }

  #tell(news: News): void {
    for (const listener of this.#listeners) listener(news);
  }

  /** `writer` for a commit, or `writer worker`. */
  #onMessage(payload: string): void {
    const end = payload.indexOf(' ');
    const writer = end === -1 ? payload : payload.slice(0, end);
    if (writer === this.#parts.own) return;
    this.#tell(end === -1 ? { type: 'commit' } : { type: 'worker', id: payload.slice(end + 1) });
  }

  async #run(): Promise<void> {
    this.#lookLater();
    let retryMs = firstRetryMs;
    while (!this.#closing.signal.aborted) {
      if (await this.#listen()) retryMs = firstRetryMs;
      if (this.#closing.signal.aborted) return;
      await delay(this.#parts.clock, retryMs, this.#closing.signal);
      retryMs = Math.min(2 * retryMs, longestRetryMs);
    }
  }

  /** Resolves when the connection is lost: whether there was one. */
  async #listen(): Promise<boolean> {
    const { driver, settings } = this.#parts;
    const client = new driver.Client(clientConfig(driver, settings));
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => undefined);
    client.on('notification', ({ payload = '' }) => this.#onMessage(payload));
    try {
      await client.connect();
      // It is the one connection that a server always has: that it is there can be seen by it.
      await enter(client, settings.schema);
      await client.query(`LISTEN ${settings.schema}`);
    } catch (error) {
      client.end().catch(() => undefined);
      this.#tellIfDeaf(error);
      return false;
    }
    this.#isDeaf = false;
    // Only from here on it can be ended from outside: a client that is about to connect can't be.
    if (this.#closing.signal.aborted) await client.end().catch(() => undefined);
    else this.#client = client;
    // What was committed while nobody listened.
    if (this.#client !== null) this.#tell({ type: 'anything' });
    await lost;
    this.#client = null;
    return true;
  }

  /** Once: while the database is away, its absence is told of by others, too. */
  #tellIfDeaf(error: unknown): void {
    if (this.#isDeaf || this.#closing.signal.aborted) return;
    this.#isDeaf = true;
    const { log } = this.#parts;
    const then = `what other servers commit is seen every ${lookEveryMs / 1_000} s only`;
    log.warn(`cannot listen to the database: ${then}`, { error: String(error) });
  }

  #lookLater(): void {
    this.#cancelLook = this.#parts.clock.after(lookEveryMs, () => {
      if (this.#closing.signal.aborted) return;
      this.#tell({ type: 'anything' });
      this.#probe();
      this.#lookLater();
    });
  }

  /** A network that swallows everything says nothing either: the time limit on a query finds out. */
  #probe(): void {
    const client = this.#client;
    client?.query('SELECT 1').catch(() => client.end().catch(() => undefined));
  }
}
