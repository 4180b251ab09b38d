import type { ClientBase } from 'pg';
import type { Migration } from '../std/migrations.ts';

interface Applied {
  readonly number: number;
  readonly name: string;
  readonly breaking: boolean;
}

/** A later program changed the schema in a way that this one can't read. */
export class SchemaNewer extends Error {
  readonly migration: string;

  constructor(migration: string) {
    super(
      `was changed by a newer version (migration ${migration}), and this one can't read it: use the newer version.`,
    );
    this.migration = migration;
  }
}

/**
 * Brings the schema that the connection's search path begins with up to date, in one transaction.
 * Those that start together do it one after the other, and all but the first find nothing left to do.
 * @throws SchemaNewer
 */
export async function migrateSchema(
  client: ClientBase,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('capataz ' || $1, 0))", [
      schema,
    ]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(`CREATE TABLE IF NOT EXISTS migrations (
      number integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL)`);
    const { rows } = await client.query<Applied>('SELECT number, name, breaking FROM migrations');
    refuseNewer(rows, migrations);
    const done = new Set(rows.map(({ number }) => number));
    for (const { number, name, text, breaking } of migrations) {
      if (done.has(number)) continue;
      await client.query(text);
      const values = [number, name, breaking];
      await client.query('INSERT INTO migrations VALUES ($1, $2, $3)', values);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function refuseNewer(applied: readonly Applied[], known: readonly Migration[]): void {
  const newest = known.at(-1)?.number ?? 0;
  const foreign = applied.find(({ number, breaking }) => number > newest && breaking);
  if (foreign !== undefined) throw new SchemaNewer(foreign.name);
}
