import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CapatazError } from 'capataz';
import { CompiledQuery, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import pg from 'pg';
import type { DatabaseKind } from './kind.ts';
import { firstMigration } from './migrations/first.ts';
import { nodeSqlite } from './node-sqlite.ts';
import type { Tables } from './schema.ts';

export type Db = Kysely<Tables>;

export interface Database {
  readonly db: Db;
  readonly kind: DatabaseKind;
  /** Null: there are none, or its own. */
  readonly schema: string | null;
  close(): Promise<void>;
}

export const migrations = (kind: DatabaseKind): Record<string, Migration> => ({
  '001-first': firstMigration(kind),
});

/**
 * The tables of the launcher, brought to the newest version.
 * @param place a file, or `postgres://…` with `?schema=` for one that is not `capataz_rpa`
 * @throws CapatazError STORE_UNAVAILABLE, CONFIG_INVALID
 */
export async function openDatabase(place: string): Promise<Database> {
  const database = place.includes('://') ? await openPostgres(place) : openSqlite(place);
  try {
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

function openSqlite(file: string): Database {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true });
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: nodeSqlite(file) }) });
  return { db, kind: 'sqlite', schema: null, close: () => db.destroy() };
}

const defaultSchema = 'capataz_rpa';
const int8 = 20;
const asText = new Set([1082, 1083, 1114]);

async function openPostgres(place: string): Promise<Database> {
  const url = URL.canParse(place) ? new URL(place) : null;
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw new CapatazError('CONFIG_INVALID', 'database_url: must begin with postgres://');
  const schema = url.searchParams.get('schema') ?? defaultSchema;
  url.searchParams.delete('schema');
  if (!/^[a-z_][a-z0-9_]*$/.test(schema))
    throw new CapatazError('CONFIG_INVALID', `database_url: "${schema}" is no name of a schema`);
  const pool = new pg.Pool({
    connectionString: url.href,
    max: 4,
    options: [
      `-c search_path=${schema}`,
      // Who holds a table, or a transaction, by hand must not hold the cycles for ever: they fail, and that is told.
      '-c lock_timeout=20s -c statement_timeout=60s -c idle_in_transaction_session_timeout=60s',
    ].join(' '),
    // The same where nothing comes back at all.
    connectionTimeoutMillis: 20_000,
    query_timeout: 90_000,
    keepAlive: true,
    types: {
      // Local dates are texts to us: as `Date` they would be read in the zone of this host.
      getTypeParser: (type: number, format?: 'text' | 'binary') => {
        if (asText.has(type)) return (value: string) => value;
        if (type === int8) return Number;
        return pg.types.getTypeParser(type, format as 'text');
      },
    },
  });
  // An idle connection that breaks is replaced at the next query, which says so if it can't be.
  pool.on('error', () => undefined);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    await db.executeQuery(CompiledQuery.raw(`create schema if not exists ${schema}`));
  } catch (cause) {
    await db.destroy();
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new CapatazError('STORE_UNAVAILABLE', `database_url: ${message}`, undefined, cause);
  }
  return { db, kind: 'postgres', schema, close: () => db.destroy() };
}

async function migrate({ db, kind, schema }: Database): Promise<void> {
  const provider = { getMigrations: async () => migrations(kind) };
  const { error } = await new Migrator({
    ...{ db, provider },
    // Without it a table of the same name in another schema of the database is taken for ours.
    ...(schema === null ? {} : { migrationTableSchema: schema }),
  }).migrateToLatest();
  if (error === undefined) return;
  const message = error instanceof Error ? error.message : String(error);
  throw new CapatazError(
    'STORE_UNAVAILABLE',
    `the launcher’s tables: ${message}`,
    undefined,
    error,
  );
}

/** Whether the database answers. */
export async function ping({ db }: Pick<Database, 'db'>): Promise<void> {
  await sql`select 1`.execute(db);
}

/** The time of the database, which is one for all launchers on it; null where it has none of its own. */
export async function databaseNow(db: Db, kind: DatabaseKind): Promise<number | null> {
  if (kind !== 'postgres') return null;
  const { rows } = await sql<{ now: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::int8 as now`.execute(db);
  return rows[0]?.now ?? null;
}

/** A transaction, or the one that there is: what calls others is whole with them. */
export function inTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

const sqliteConstraint = 19;

/** Whether the values are what the database minds: asked again it would say the same. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // SQLSTATE 22: data that a column does not take; 23: a constraint. SQLite has numbers, extended in the upper bytes.
  if ('code' in error && /^2[23]...$/.test(String(error.code))) return true;
  return 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteConstraint;
}

/** SQL Server tells what it has inserted by another clause than the others. */
export function hasOutput(db: Db): boolean {
  return db.getExecutor().adapter.supportsOutput === true;
}
