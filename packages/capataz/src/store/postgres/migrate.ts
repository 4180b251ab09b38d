import type { ClientBase } from 'pg';
import { type MigrateOptions, migrateSchema } from '../../postgres/migrate.ts';
import { type Migration, migrationsIn } from '../../std/migrations.ts';
import { storeNewer } from '../migrations.ts';

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

/** A look at it comes before any migration. */
const moves =
  'CREATE TABLE IF NOT EXISTS moves (state text NOT NULL, move text NOT NULL, other text NOT NULL)';

/**
 * @returns what was applied now.
 * @throws CapatazError STORE_NEWER when a later program changed the schema in a way that this one can't read.
 */
export async function migrate(
  client: ClientBase,
  schema: string,
  {
    migrations = readMigrations(),
    ...options
  }: Omit<MigrateOptions, 'bootstrap'> & { readonly migrations?: readonly Migration[] } = {},
): Promise<Migration[]> {
  try {
    return await migrateSchema(client, schema, migrations, { ...options, bootstrap: moves });
  } catch (error) {
    throw storeNewer(error);
  }
}
