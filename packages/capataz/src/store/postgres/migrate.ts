import type { ClientBase } from 'pg';
import { type AppliedMigration, type Migration, migrationsIn, pendingOf } from '../migrations.ts';

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

export interface MigrateOptions {
  readonly migrations?: readonly Migration[];
  /**
   * Called before anything is changed, when no other instance migrates: it may refuse. `isBreaking`:
   * what is pending would break older programs that work on the schema.
   */
  readonly admit?: (isBreaking: boolean) => Promise<void>;
}

/**
 * Brings the schema up to date, in one transaction. Instances that start together do it one after the
 * other, and all but the first find nothing left to do.
 * @returns what was applied now.
 * @throws CapatazError STORE_NEWER when a later program changed it in a way that this one can't read.
 */
export async function migrate(
  client: ClientBase,
  schema: string,
  { migrations = readMigrations(), admit }: MigrateOptions = {},
): Promise<Migration[]> {
  await client.query('BEGIN');
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('capataz ' || $1, 0))", [
      schema,
    ]);
    const applied = await appliedIn(client, schema);
    const pending = pendingOf(applied, migrations);
    await admit?.(applied.length > 0 && pending.some(({ breaking }) => breaking));
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.migrations (
      number integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL)`);
    await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.moves (
      state text NOT NULL, move text NOT NULL, other text NOT NULL)`);
    for (const { number, name, text, breaking } of pending) {
      await client.query(text);
      const values = [number, name, breaking];
      await client.query('INSERT INTO migrations VALUES ($1, $2, $3)', values);
    }
    await client.query('COMMIT');
    return pending;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** What a schema has been through; nothing where it holds no store, or is not there. */
export async function appliedIn(client: ClientBase, schema: string): Promise<AppliedMigration[]> {
  const table = `${schema}.migrations`;
  const found = await client.query<{ is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [table],
  );
  if (found.rows[0]?.is_there !== true) return [];
  return (await client.query<AppliedMigration>(`SELECT number, name, breaking FROM ${table}`)).rows;
}
