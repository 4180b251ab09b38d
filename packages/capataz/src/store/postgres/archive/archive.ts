import type { Pool, PoolClient } from 'pg';
import type { StoredEntry } from '../../../core/history.ts';
import { clientConfig, type DriverSettings } from '../../../postgres/driver.ts';
import { outage } from '../../../postgres/errors.ts';
import { appliedIn, migrateSchema } from '../../../postgres/migrate.ts';
import { readPlace } from '../../../postgres/place.ts';
import { CapatazError } from '../../../protocol/errors.ts';
import { migrationsIn } from '../../../std/migrations.ts';
import { sqlTexts } from '../../../std/sql-texts.ts';
import { archiveAway, foreignArchive, refuseForeign } from '../../archive-refusals.ts';
import type { Archive, BookRow, EventPage, HistoryRow } from '../../contract.ts';
import { storeNewer } from '../../migrations.ts';
import { bookOf, type EventsRow, eventPageOf } from '../../rows.ts';
import { installedDriver } from '../open.ts';

const textOf = sqlTexts(new URL('./statements/', import.meta.url));

/** One moves books, the others read them. */
const connections = 3;

/** An archive in a schema, which several servers share. */
export class PostgresArchive implements Archive {
  readonly name: string;
  readonly #settings: DriverSettings;
  #pool: Promise<Pool> | null = null;
  #isClosed = false;

  /** @throws CapatazError CONFIG_INVALID */
  constructor(url: string) {
    const place = readPlace(url, 'capataz_history');
    if ('problem' in place)
      throw new CapatazError('CONFIG_INVALID', `history: the URL ${place.problem}`);
    const { protocol, host, pathname } = new URL(place.url);
    this.name = `${protocol}//${host}${pathname}?schema=${place.schema}`;
    const timeouts = { connectTimeoutMs: 5_000, statementTimeoutMs: 30_000 };
    this.#settings = { ...place, ...timeouts, name: `capataz ${place.schema}` };
  }

  write(rows: readonly BookRow[]): Promise<void> {
    const column = <T>(of: (row: BookRow) => T): T[] => rows.map(of);
    const columns = [
      column(({ position }) => position),
      column(({ jobId }) => jobId),
      column(({ seq }) => seq),
      column(({ at }) => at),
      column(({ count }) => count),
      column(({ entries }) => entries),
      column(({ client }) => client),
      column(({ correlationId }) => correlationId),
    ];
    return this.#use(async (client) => {
      await client.query('BEGIN');
      const { rowCount } = await client.query(textOf('books-write'), columns);
      // Without a COMMIT nothing stays: the connection is not used any more.
      if (rowCount !== rows.length) throw foreignArchive(this.name);
      await client.query('COMMIT');
    });
  }

  history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    return this.#use(async (client) => {
      const values = [jobId, after, limit];
      const { rows } = await client.query<HistoryRow>(textOf('read-history'), values);
      return bookOf(rows, after, limit);
    });
  }

  events(after: number, upTo: number, limit: number): Promise<EventPage> {
    return this.#use(async (client) => {
      const values = [after, upTo, limit];
      const { rows } = await client.query<EventsRow>(textOf('read-events'), values);
      return eventPageOf(rows, after, limit);
    });
  }

  async forget(jobIds: readonly string[]): Promise<void> {
    await this.#use((client) => client.query(textOf('books-forget'), [jobIds]));
  }

  alone(work: () => Promise<void>): Promise<boolean> {
    return this.#use(async (client) => {
      const { rows } = await client.query<{ taken: boolean }>(textOf('turn-take'));
      if (rows[0]?.taken !== true) return false;
      await work();
      await client.query(textOf('turn-give'));
      return true;
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const pool = await this.#pool?.catch(() => null);
    await pool?.end();
  }

  /** After an error the connection is closed, and what it held is free. */
  async #use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw archiveAway(this.name, 'it is closed');
    let client: PoolClient | null = null;
    let isWell = false;
    const ignore = (): void => undefined;
    try {
      this.#pool ??= this.#open();
      const pool = await this.#pool.catch((error: unknown) => {
        this.#pool = null;
        throw error;
      });
      client = await pool.connect();
      client.on('error', ignore);
      const result = await work(client);
      isWell = true;
      return result;
    } catch (error) {
      const why = outage(error);
      throw why === null ? error : archiveAway(this.name, why, error);
    } finally {
      client?.off('error', ignore);
      client?.release(!isWell);
    }
  }

  async #open(): Promise<Pool> {
    const driver = await installedDriver();
    const { schema } = this.#settings;
    const own = migrationsIn(new URL('./migrations/', import.meta.url));
    const client = new driver.Client(clientConfig(driver, this.#settings));
    client.on('error', () => undefined);
    try {
      await client.connect();
      refuseForeign(this.name, await appliedIn(client, schema), own);
      await migrateSchema(client, schema, own);
    } catch (error) {
      throw storeNewer(error);
    } finally {
      await client.end().catch(() => undefined);
    }
    const pool = new driver.Pool({
      ...clientConfig(driver, this.#settings),
      max: connections,
      allowExitOnIdle: true,
    });
    pool.on('error', () => undefined);
    return pool;
  }
}
