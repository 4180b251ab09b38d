import { existsSync } from 'node:fs';
import type { Clock } from '../../std/clock.ts';
import type { Migration } from '../../std/migrations.ts';
import { pendingOf } from '../migrations.ts';
import { refuseMarked } from '../move-marks.ts';
import { unavailable } from '../refusals.ts';
import { StoreTime } from '../store-time.ts';
import { foldWal, openReading, openWriting } from './database.ts';
import { outage } from './errors.ts';
import { type Holder, livingHolder, StoreLock } from './lock.ts';
import { appliedIn, migrate, moveRowIn, readMigrations } from './migrate.ts';
import { createFolder, type StorePlace, storePaths } from './paths.ts';
import { DatabasePlace } from './place.ts';
import { Reads } from './reads.ts';
import { Statements } from './statements.ts';
import { OpenSqliteStore, type SqliteStore } from './store.ts';
import { WriterKeeper } from './writer-keeper.ts';

export type SqliteStoreOptions = StorePlace & {
  readonly clock: Clock;
  /**
   * `full` (default): what was acknowledged survives the loss of power. `normal`: it survives the
   * death of the process; the loss of power may take the last commits, and no more.
   */
  readonly synchronous?: 'full' | 'normal';
};

/**
 * Opens a store and holds it until it is closed or the process ends.
 * @throws CapatazError STORE_IN_USE, STORE_NEWER, STORE_MOVED, STORE_INCOMPLETE, STORE_UNAVAILABLE
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { clock, synchronous = 'full' } = options;
  const paths = storePaths(options);
  createFolder(paths);
  const lock = new StoreLock(paths, clock.now());
  try {
    const lastStored = prepare(paths.database, synchronous);
    const place = new DatabasePlace(paths.database, clock);
    const writing = { database: paths.database, synchronous };
    const writer = await WriterKeeper.start({ options: writing, place, clock });
    const reads = new Reads(openReading(paths.database));
    const time = new StoreTime(clock, lastStored);
    const durable = synchronous === 'full';
    return new OpenSqliteStore({ reads, writer, place, lock, time, durable });
  } catch (error) {
    lock.release();
    const why = outage(error);
    throw why === null ? error : unavailable(`${paths.database}: ${why}`, error);
  }
}

/** Who has this store open at present, and where its server listens; null if nobody has. */
export function describeHolder(folder: string): Holder | null {
  return livingHolder(storePaths({ folder }));
}

/**
 * Brings the database of a folder up to date without opening the store.
 * @param apply false: only says what is pending, also beside a server that holds the folder.
 * @returns what was applied now, or would be.
 * @throws CapatazError as openSqliteStore
 */
export function migrateSqliteStore(folder: string, clock: Clock, apply: boolean): Migration[] {
  const paths = storePaths({ folder });
  if (!apply) return pendingIn(paths.database);
  createFolder(paths);
  const lock = new StoreLock(paths, clock.now());
  try {
    const database = openWriting(paths.database, 'full');
    try {
      refuseMarked(paths.database, moveRowIn(database));
      return migrate(database);
    } finally {
      database.close();
    }
  } catch (error) {
    const why = outage(error);
    throw why === null ? error : unavailable(`${paths.database}: ${why}`, error);
  } finally {
    lock.release();
  }
}

function pendingIn(file: string): Migration[] {
  if (!existsSync(file)) return readMigrations();
  const database = openReading(file);
  try {
    return pendingOf(appliedIn(database), readMigrations());
  } finally {
    database.close();
  }
}

/** Brings the database up to date. @returns the latest instant that is stored in it. */
function prepare(file: string, synchronous: 'full' | 'normal'): number {
  const database = openWriting(file, synchronous);
  try {
    refuseMarked(file, moveRowIn(database));
    migrate(database);
    const statements = new Statements(database);
    statements.run('classes-sweep');
    foldWal(database);
    return statements.one<{ time: number }>('marks').time;
  } finally {
    database.close();
  }
}
