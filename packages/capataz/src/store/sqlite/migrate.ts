import type { DatabaseSync } from 'node:sqlite';
import { CapatazError } from '../../protocol/errors.ts';
import { type Migration, migrationsIn } from '../../std/migrations.ts';

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

/**
 * Brings the schema up to date, in one transaction.
 * @throws CapatazError STORE_NEWER when a later program changed it in a way that this one can't read.
 */
export function migrate(database: DatabaseSync, migrations = readMigrations()): void {
  database.exec(`BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS migrations (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, breaking INTEGER NOT NULL) STRICT`);
  try {
    const applied = database.prepare('SELECT number, name, breaking FROM migrations').all();
    refuseNewer(applied, migrations);
    const done = new Set(applied.map(({ number }) => number));
    for (const { number, name, text, breaking } of migrations) {
      if (done.has(number)) continue;
      database.exec(text);
      database
        .prepare('INSERT INTO migrations VALUES (?, ?, ?)')
        .run(number, name, Number(breaking));
      database.exec(`PRAGMA user_version = ${number}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function refuseNewer(
  applied: readonly Record<string, unknown>[],
  known: readonly Migration[],
): void {
  const newest = known.at(-1)?.number ?? 0;
  const foreign = applied.find(({ number, breaking }) => Number(number) > newest && breaking === 1);
  if (foreign === undefined) return;
  throw new CapatazError(
    'STORE_NEWER',
    `The store was changed by a newer version (migration ${String(foreign['name'])}), and this one can't read it: use the newer version.`,
    { migration: String(foreign['name']) },
  );
}
