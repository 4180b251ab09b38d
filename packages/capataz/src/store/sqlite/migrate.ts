import type { DatabaseSync } from 'node:sqlite';
import { type AppliedMigration, type Migration, migrationsIn } from '../../std/migrations.ts';
import { pendingOf } from '../migrations.ts';
import type { MoveRow } from '../move-marks.ts';

export function readMigrations(): Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}

/**
 * Brings the schema up to date, in one transaction.
 * @returns what was applied now.
 * @throws CapatazError STORE_NEWER when a later program changed it in a way that this one can't read.
 */
export function migrate(database: DatabaseSync, migrations = readMigrations()): Migration[] {
  database.exec(`BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS migrations (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, breaking INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS moves (
      state TEXT NOT NULL, move TEXT NOT NULL, other TEXT NOT NULL) STRICT`);
  try {
    const pending = pendingOf(appliedIn(database), migrations);
    for (const { number, name, text, breaking } of pending) {
      database.exec(text);
      database
        .prepare('INSERT INTO migrations VALUES (?, ?, ?)')
        .run(number, name, Number(breaking));
      database.exec(`PRAGMA user_version = ${number}`);
    }
    database.exec('COMMIT');
    return pending;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** What a database has been through; nothing where it holds no store. */
export function appliedIn(database: DatabaseSync): AppliedMigration[] {
  if (!hasTable(database, 'migrations')) return [];
  const rows = database.prepare('SELECT number, name, breaking FROM migrations').all();
  return rows.map(({ number, name, breaking }) => ({
    number: Number(number),
    name: String(name),
    breaking: breaking === 1,
  }));
}

/** What a move has left written on it. */
export function moveRowIn(database: DatabaseSync): MoveRow | undefined {
  if (!hasTable(database, 'moves')) return undefined;
  // The columns of the table above.
  return database.prepare('SELECT state, move, other FROM moves').get() as MoveRow | undefined;
}

function hasTable(database: DatabaseSync, name: string): boolean {
  const statement = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
  );
  return statement.get(name) !== undefined;
}
