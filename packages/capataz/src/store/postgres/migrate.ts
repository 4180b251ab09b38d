import type { ClientBase } from 'pg';
import { migrateSchema, SchemaNewer } from '../../postgres/migrate.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Migration, migrationsIn } from '../../std/migrations.ts';

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

/** @throws CapatazError STORE_NEWER when a later program changed the schema in a way that this one can't read. */
export async function migrate(
  client: ClientBase,
  schema: string,
  migrations = readMigrations(),
): Promise<void> {
  try {
    await migrateSchema(client, schema, migrations);
  } catch (error) {
    if (!(error instanceof SchemaNewer)) throw error;
    const { message, migration } = error;
    throw new CapatazError('STORE_NEWER', `The store ${message}`, { migration }, error);
  }
}
