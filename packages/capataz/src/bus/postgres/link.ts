import { Socket } from 'node:net';
import type { Client } from 'pg';
import {
  clientConfig,
  type Driver,
  type DriverSettings,
  loadDriver,
} from '../../postgres/driver.ts';
import { isLost, outage, sqlState } from '../../postgres/errors.ts';
import { migrateSchema } from '../../postgres/migrate.ts';
import { type Clock, delay } from '../../std/clock.ts';
import { type Migration, migrationsIn, SchemaNewer } from '../../std/migrations.ts';
import { sqlTexts } from '../../std/sql-texts.ts';
import { BusError } from '../contract.ts';
import { messageOf } from '../envelope.ts';

export interface LinkSettings extends DriverSettings {
  /** A server that says nothing for so long after a statement is lost. */
  readonly answerMs: number;
  readonly clock: Clock;
}

export type Parameter = string | number | null | readonly (string | number)[];

/** A polite end needs a server that reads; a link that is silent is cut after this long. */
const closeTimeoutMs = 2_000;

const statementText = sqlTexts(new URL('./statements/', import.meta.url));

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

/**
 * One connection to the server, until it is lost: that is an end, and whoever needs a link opens the
 * next. Its statements run one after the other.
 */
export class PostgresLink {
  /** Resolves when it is lost or closed. */
  readonly lost: Promise<BusError>;
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #settings: LinkSettings;
  readonly #lose: (error: BusError) => void;
  readonly #waiting = new Set<(error: BusError) => void>();
  #error: BusError | null = null;
  #isClosing = false;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(driver: Driver, settings: LinkSettings) {
    this.#settings = settings;
    // Our own, because the driver would wait for the goodbye of a server that says nothing.
    this.#socket = new Socket();
    const stream = () => this.#socket;
    this.#client = new driver.Client({ ...clientConfig(driver, settings), stream });
    const { promise, resolve } = Promise.withResolvers<BusError>();
    this.lost = promise;
    this.#lose = resolve;
    this.#client.on('error', (error) => this.destroy(downError(error)));
    const ended = new BusError('down', 'PostgreSQL: the connection ended');
    this.#client.on('end', () => this.destroy(this.#isClosing ? closedError() : ended));
  }

  /** The schema is up to date when it is open. @throws BusError */
  static async open(settings: LinkSettings): Promise<PostgresLink> {
    const driver = await loadDriver();
    if (driver === null) {
      const message = 'the bus over PostgreSQL needs the package pg: npm install pg';
      throw new BusError('not_installed', message);
    }
    const link = new PostgresLink(driver, settings);
    try {
      await link.#client.connect();
      await migrateSchema(link.#client, settings.schema, readMigrations());
    } catch (error) {
      const known = downError(error);
      link.destroy(known);
      throw known;
    }
    return link;
  }

  /** `Row` is what the statement's header promises; the driver can't know it. @throws BusError */
  run<Row>(name: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    return this.#inTurn(() => this.#ask<Row>(name, parameters));
  }

  /** Several that write, all or nothing. @throws BusError */
  transaction(
    ...statements: readonly (readonly [name: string, ...parameters: Parameter[]])[]
  ): Promise<void> {
    return this.#inTurn(async () => {
      await this.#command('BEGIN');
      try {
        for (const [name, ...parameters] of statements) await this.#ask(name, parameters);
        await this.#command('COMMIT');
      } catch (error) {
        await this.#command('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
  }

  /** Calls back with what others notify on the channel of the schema. @throws BusError */
  async listen(onNotice: (payload: string) => void): Promise<void> {
    this.#client.on('notification', ({ payload }) => onNotice(payload ?? ''));
    await this.#inTurn(() => this.#command(`LISTEN ${this.#settings.schema}`));
  }

  /** Says goodbye after what is under way, and is gone in any case. */
  async close(): Promise<void> {
    if (this.#error !== null) return;
    this.#isClosing = true;
    const goodbye = this.#inTurn(() => this.#client.end()).catch(() => undefined);
    const timer = new AbortController();
    await Promise.race([goodbye, delay(this.#settings.clock, closeTimeoutMs, timer.signal)]);
    timer.abort();
    this.destroy(closedError());
  }

  destroy(error: BusError): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#socket.destroy();
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
    this.#lose(error);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  #ask<Row>(name: string, parameters: readonly Parameter[]): Promise<Row[]> {
    const query = { name, text: statementText(name), values: [...parameters] };
    return this.#inTime(async () => (await this.#client.query(query)).rows as Row[]);
  }

  async #command(text: string): Promise<void> {
    await this.#inTime(() => this.#client.query(text));
  }

  /** Without an answer nobody knows what became of it: the link is given up. */
  #inTime<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#error !== null) return Promise.reject(this.#error);
    const { clock, answerMs } = this.#settings;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(answerMs, () =>
        this.destroy(new BusError('down', `PostgreSQL did not answer within ${answerMs} ms`)),
      );
      this.#waiting.add(reject);
      ask()
        .then(resolve, (error: unknown) => reject(this.#refusal(error)))
        .finally(() => {
          cancel();
          this.#waiting.delete(reject);
        });
    });
  }

  #refusal(error: unknown): BusError {
    if (this.#error !== null) return this.#error;
    const known = downError(error);
    // What the server does not know of is made again by the next link: its tables, for one.
    if (isLost(error) || (known.code === 'down' && outage(error) === null)) this.destroy(known);
    return known;
  }
}

export function closedError(): BusError {
  return new BusError('closed', 'this bus was closed');
}

/** Data and lengths that the server will never take. */
const refusals = /^(?:22|54)/;

export function downError(error: unknown): BusError {
  if (error instanceof BusError) return error;
  if (error instanceof SchemaNewer) {
    return new BusError('invalid', `PostgreSQL: the schema ${error.message}`, { cause: error });
  }
  const code = refusals.test(sqlState(error) ?? '') ? 'invalid' : 'down';
  const said = [outage(error), messageOf(error)].filter((text) => text !== null && text !== '');
  return new BusError(code, `PostgreSQL: ${said.join(': ')}`, { cause: error });
}
