import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/** The SQLite that Node brings, as Kysely's dialect expects one. */
export function nodeSqlite(file: string): SqliteDatabase {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(text) {
      const known = prepared.get(text);
      if (known !== undefined) return known;
      const statement = database.prepare(text);
      // Kysely binds what the queries give: numbers, texts and nulls.
      const values = (parameters: readonly unknown[]) => [...parameters] as SQLInputValue[];
      const made: SqliteStatement = {
        reader: statement.columns().length > 0,
        // Rows of node:sqlite have no prototype, which strict comparisons mind.
        all: (parameters) => statement.all(...values(parameters)).map((row) => ({ ...row })),
        run: (parameters) => statement.run(...values(parameters)),
        iterate: (parameters) => statement.iterate(...values(parameters)),
      };
      prepared.set(text, made);
      return made;
    },
  };
}
