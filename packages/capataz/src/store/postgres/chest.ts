import type { ClientBase } from 'pg';
import { clientConfig } from '../../postgres/driver.ts';
import { outage, sqlState } from '../../postgres/errors.ts';
import { appliedIn } from '../../postgres/migrate.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { Clock } from '../../std/clock.ts';
import {
  batchCount,
  batchLength,
  type Chest,
  type MoveMark,
  type RecordKind,
  type RecordOf,
  recordKindNames,
} from '../chest.ts';
import { pendingOf } from '../migrations.ts';
import { lacksMigrations, moveMarkOf } from '../move-marks.ts';
import { unavailable } from '../refusals.ts';
import { migrate, readMigrations } from './migrate.ts';
import { enterAlone, moveRowIn } from './occupancy.ts';
import { installedDriver, placeOf } from './open.ts';
import type { Row, Shelf } from './shelf.ts';
import { settling, shelves, tables } from './shelves.ts';
import { Session } from './statements.ts';

/** Rows that are fetched before anything is known about their size. */
const firstFetch = 16;

/**
 * The store of a URL (open.ts), lying still: no other connection gets in until it is closed.
 * @throws CapatazError STORE_IN_USE, STORE_NEWER, STORE_UNAVAILABLE; CONFIG_INVALID where migrations
 * are pending
 */
export async function openPostgresChest(text: string, clock: Clock): Promise<Chest> {
  const place = placeOf(text);
  const { url, schema } = place;
  const settings = { ...place, connectTimeoutMs: 5_000, statementTimeoutMs: 0 };
  const driver = await installedDriver();
  const client = new driver.Client({
    ...clientConfig(driver, settings),
    // Whole tables are read and sorted here, and the other side may take its time.
    options: `-c search_path=${schema},public -c jit=off`,
    query_timeout: 0,
    idle_in_transaction_session_timeout: 0,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await enterAlone(client, schema, clock);
    const mark = moveMarkOf(await moveRowIn(client, schema));
    const applied = await appliedIn(client, schema);
    const name = nameOf(url, schema);
    const pending = pendingOf(applied, readMigrations());
    // What a broken move has left is made anew.
    if (applied.length > 0 && pending.length > 0 && mark.state === 'none')
      throw lacksMigrations(name, pending);
    const end = (): Promise<void> => client.end();
    return new PostgresChest({ client, end, schema, name, mark, exists: applied.length > 0 });
  } catch (error) {
    await client.end().catch(() => undefined);
    const why = outage(error);
    throw why === null ? error : unavailable(why, error);
  }
}

/** Without user and password. */
function nameOf(url: string, schema: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}?schema=${schema}`;
}

interface ChestParts {
  readonly client: ClientBase;
  readonly end: () => Promise<void>;
  readonly schema: string;
  readonly name: string;
  readonly mark: MoveMark;
  readonly exists: boolean;
}

class PostgresChest implements Chest {
  readonly name: string;
  readonly #client: ClientBase;
  readonly #session: Session;
  readonly #schema: string;
  readonly #end: () => Promise<void>;
  #mark: MoveMark;
  #exists: boolean;

  constructor({ client, end, schema, name, mark, exists }: ChestParts) {
    this.name = name;
    this.#client = client;
    this.#session = new Session(client);
    this.#schema = schema;
    this.#end = end;
    this.#mark = mark;
    this.#exists = exists;
  }

  get mark(): MoveMark {
    return this.#mark;
  }

  get exists(): boolean {
    return this.#exists;
  }

  get emptying(): string {
    return `name another ?schema=, or drop it with DROP SCHEMA ${this.#schema} CASCADE`;
  }

  async count(): Promise<ReadonlyMap<RecordKind, number>> {
    const counts = new Map<RecordKind, number>();
    if (!this.#exists) return counts;
    for (const kind of recordKindNames) {
      const text = `SELECT count(*) AS count FROM ${shelves[kind].from}`;
      const [row] = await this.#guard(this.#session.allOf<{ count: number }>(text, []));
      if (row !== undefined && row.count > 0) counts.set(kind, row.count);
    }
    return counts;
  }

  async *read<K extends RecordKind>(kind: K): AsyncGenerator<readonly RecordOf<K>[]> {
    const shelf: Shelf<K> = shelves[kind];
    // The columns of the statement are those of the record.
    const recordOf = shelf.recordOf ?? ((row: Row) => row as RecordOf<K>);
    await this.#command('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      await this.#command(`DECLARE records NO SCROLL CURSOR FOR ${shelf.read}`);
      for (let size = firstFetch; ; ) {
        const text = `FETCH ${size} FROM records`;
        const rows = await this.#guard(this.#session.allOf<Row>(text, []));
        if (rows.length > 0) yield rows.map(recordOf);
        if (rows.length < size) break;
        size = nextFetch(rows);
      }
    } finally {
      await this.#client.query('ROLLBACK').catch(() => undefined);
    }
  }

  async begin(move: string, other: string): Promise<void> {
    await this.#guard(migrate(this.#client, this.#schema));
    this.#exists = true;
    await this.setMark({ state: 'incomplete', move, other });
    await this.#command(`TRUNCATE ${tables.join(', ')} RESTART IDENTITY`);
    // What a crash may take is of no use to anybody yet.
    await this.#command('SET synchronous_commit = off');
  }

  async write<K extends RecordKind>(kind: K, records: readonly RecordOf<K>[]): Promise<void> {
    const shelf: Shelf<K> = shelves[kind];
    await this.#command('BEGIN');
    try {
      await shelf.write(this.#session, records);
      await this.#command('COMMIT');
    } catch (error) {
      await this.#client.query('ROLLBACK').catch(() => undefined);
      throw refusalOf(error, this.name, kind);
    }
  }

  async settle(): Promise<void> {
    await this.#command('SET synchronous_commit = on');
    for (const statement of settling) await this.#command(statement);
  }

  async setMark(mark: MoveMark): Promise<void> {
    await this.#command('BEGIN');
    await this.#command('DELETE FROM moves');
    if (mark.state !== 'none') {
      const values = [mark.state, mark.move, mark.other];
      await this.#guard(this.#client.query('INSERT INTO moves VALUES ($1, $2, $3)', values));
    }
    await this.#command('COMMIT');
    this.#mark = mark;
  }

  async close(): Promise<void> {
    await this.#end().catch(() => undefined);
  }

  async #command(text: string): Promise<void> {
    await this.#guard(this.#client.query(text));
  }

  async #guard<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const why = outage(error);
      throw why === null ? error : unavailable(why, error);
    }
  }
}

/** So many that a batch is about as long as it may be, and never suddenly many more. */
function nextFetch(rows: readonly Row[]): number {
  let length = 0;
  for (const row of rows) for (const value of Object.values(row)) length += lengthOf(value);
  const fitting = Math.floor((batchLength * rows.length) / Math.max(1, length));
  return Math.max(1, Math.min(2 * rows.length, fitting, batchCount));
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 8;
}

/** The server keeps less than others can: no U+0000 in a text, 255 characters in an event's id. */
function refusalOf(error: unknown, name: string, kind: RecordKind): unknown {
  if (error instanceof CapatazError) return error;
  const why = outage(error);
  if (why !== null) return unavailable(why, error);
  if (sqlState(error)?.startsWith('22') !== true || !(error instanceof Error)) return error;
  const message = `${name} can't keep a record of ${kind}: ${error.message}. The source was not touched.`;
  return new CapatazError('STORE_INCOMPLETE', message, { store: name, kind }, error);
}
