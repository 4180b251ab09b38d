import type { ClientBase } from 'pg';
import { type AppliedMigration, type Migration, pendingOf } from '../std/migrations.ts';

export interface MigrateOptions {
  /** Statements for tables that are there before any migration, beside the one of the migrations. */
  readonly bootstrap?: string;
  /**
   * Called before anything is changed, when no other instance migrates: it may refuse. `isBreaking`:
   * what is pending would break older programs that work on the schema.
   */
  readonly admit?: (isBreaking: boolean) => Promise<void>;
}

/**
 * Brings the schema that the connection's search path begins with up to date, in one transaction.
 * Those that start together do it one after the other, and all but the first find nothing left to do.
 * @returns what was applied now.
 * @throws SchemaNewer
 */
export async function migrateSchema(
  client: ClientBase,
  schema: string,
  migrations: readonly Migration[],
  { bootstrap, admit }: MigrateOptions = {},
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
    await client.query(`CREATE TABLE IF NOT EXISTS migrations (
      number integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL)`);
    if (bootstrap !== undefined) await client.query(bootstrap);
    for (const { number, name, text, breaking } of pending) {
      await client.query(text);
      const values = [number, name, breaking];
      await client.query('INSERT INTO migrations VALUES ($1, $2, $3)', values);
    }
    await client.query('COMMIT');
    return pending;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** What a schema has been through; nothing where it is not there, or was never migrated. */
export async function appliedIn(client: ClientBase, schema: string): Promise<AppliedMigration[]> {
  const table = `${schema}.migrations`;
  const found = await client.query<{ is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [table],
  );
  if (found.rows[0]?.is_there !== true) return [];
  return (await client.query<AppliedMigration>(`SELECT number, name, breaking FROM ${table}`)).rows;
}
