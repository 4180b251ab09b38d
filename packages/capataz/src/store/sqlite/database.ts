import { DatabaseSync } from 'node:sqlite';
import type { WriterOptions } from './messages.ts';

/** How long a statement waits for another process (a backup, an inspection) before it is refused. */
const busyMs = 5_000;

/**
 * Opens the connection that writes. The WAL is folded back every 4,000 pages (16 MB), and what a
 * slow reader made it grow beyond is cut off afterwards. The cache is for what lies in the WAL: all
 * else is read through the map, and a larger one would only be memory that grows with the store.
 */
export function openWriting(file: string, synchronous: WriterOptions['synchronous']): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: busyMs, enableForeignKeyConstraints: false });
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'};
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA cache_size = -16384;
    PRAGMA mmap_size = 268435456;
    PRAGMA temp_store = MEMORY;
  `);
  return database;
}

export function openReading(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: busyMs });
  database.exec(
    'PRAGMA cache_size = -16384; PRAGMA mmap_size = 268435456; PRAGMA temp_store = MEMORY',
  );
  return database;
}

/** Folds the WAL back and leaves it empty. A reader that is still there may prevent it: no harm. */
export function foldWal(database: DatabaseSync): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
