import { existsSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { assert } from '../../std/assert.ts';
import type { Clock } from '../../std/clock.ts';
import {
  batchCount,
  batchLength,
  type Chest,
  columnsOf,
  type MoveMark,
  type RecordKind,
  type RecordOf,
  recordKindNames,
} from '../chest.ts';
import { pendingOf } from '../migrations.ts';
import { lacksMigrations, moveMarkOf } from '../move-marks.ts';
import { unavailable } from '../refusals.ts';
import { foldWal, openWriting } from './database.ts';
import { outage } from './errors.ts';
import { StoreLock } from './lock.ts';
import { appliedIn, migrate, moveRowIn, readMigrations } from './migrate.ts';
import { createFolder, type StorePaths, storePaths } from './paths.ts';
import { type Row, type Shelf, shelves } from './shelves.ts';
import { Statements } from './statements.ts';

/**
 * The store of a folder, lying still: locked, where there is one, until it is closed.
 * @throws CapatazError STORE_IN_USE, STORE_NEWER, STORE_UNAVAILABLE; CONFIG_INVALID where migrations
 * are pending
 */
export function openSqliteChest(folder: string, clock: Clock): Chest {
  const paths = storePaths({ folder });
  if (!existsSync(paths.database)) return new SqliteChest(paths, clock, null);
  const lock = new StoreLock(paths, clock.now());
  let database: DatabaseSync | null = null;
  try {
    database = openStill(paths.database);
    const mark = moveMarkOf(moveRowIn(database));
    // What a broken move has left is made anew.
    if (mark.state === 'none') refuseOld(paths.database, database);
    return new SqliteChest(paths, clock, { lock, database }, mark);
  } catch (error) {
    database?.close();
    lock.release();
    throw refusalOf(paths, error);
  }
}

function refuseOld(name: string, database: DatabaseSync): void {
  const pending = pendingOf(appliedIn(database), readMigrations());
  if (pending.length > 0) throw lacksMigrations(name, pending);
}

interface Opened {
  readonly lock: StoreLock;
  readonly database: DatabaseSync;
}

class SqliteChest implements Chest {
  readonly #paths: StorePaths;
  readonly #clock: Clock;
  #opened: Opened | null;
  #statements: Statements | null;
  #mark: MoveMark;

  constructor(
    paths: StorePaths,
    clock: Clock,
    opened: Opened | null,
    mark: MoveMark = { state: 'none' },
  ) {
    this.#paths = paths;
    this.#clock = clock;
    this.#opened = opened;
    this.#mark = mark;
    this.#statements = opened === null ? null : new Statements(opened.database);
  }

  get name(): string {
    return this.#paths.database;
  }

  get mark(): MoveMark {
    return this.#mark;
  }

  get exists(): boolean {
    return this.#opened !== null;
  }

  get emptying(): string {
    return `name a folder without a store, or remove ${this.name}, ${this.name}-wal and ${this.name}-shm`;
  }

  async count(): Promise<ReadonlyMap<RecordKind, number>> {
    const counts = new Map<RecordKind, number>();
    const statements = this.#statements;
    if (statements === null) return counts;
    for (const kind of recordKindNames) {
      const text = `SELECT count(*) AS count FROM ${shelves[kind].from}`;
      const count = statements.allOf<{ count: number }>(text)[0]?.count ?? 0;
      if (count > 0) counts.set(kind, count);
    }
    return counts;
  }

  async *read<K extends RecordKind>(kind: K): AsyncGenerator<readonly RecordOf<K>[]> {
    const shelf: Shelf<K> = shelves[kind];
    const recordOf = shelf.recordOf ?? plainRecords(kind);
    let batch: RecordOf<K>[] = [];
    let length = 0;
    for (const row of this.#still().eachOf<Row>(shelf.read)) {
      batch.push(recordOf(row));
      length += lengthOf(row);
      if (batch.length < batchCount && length < batchLength) continue;
      yield batch;
      batch = [];
      length = 0;
    }
    if (batch.length > 0) yield batch;
  }

  async begin(move: string, other: string): Promise<void> {
    const { database: file } = this.#paths;
    if (this.#opened === null) {
      createFolder(this.#paths);
      // Whoever came first has it; what they have made is not thrown away.
      const lock = new StoreLock(this.#paths, this.#clock.now());
      this.#open(lock);
      const applied = appliedIn(this.#database());
      if (applied.length > 0) throw unavailable(`${file} has come into being meanwhile`);
    } else {
      const { lock, database } = this.#opened;
      database.close();
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      this.#open(lock);
    }
    migrate(this.#database());
    await this.setMark({ state: 'incomplete', move, other });
    // What a loss of power may take is of no use to anybody yet.
    this.#database().exec('PRAGMA synchronous = NORMAL');
  }

  async write<K extends RecordKind>(kind: K, records: readonly RecordOf<K>[]): Promise<void> {
    const shelf: Shelf<K> = shelves[kind];
    const database = this.#database();
    const statements = this.#still();
    try {
      database.exec('BEGIN IMMEDIATE');
      for (const record of records) shelf.write(statements, record);
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw refusalOf(this.#paths, error);
    }
  }

  async settle(): Promise<void> {
    this.#database().exec('PRAGMA synchronous = FULL');
    foldWal(this.#database());
  }

  async setMark(mark: MoveMark): Promise<void> {
    const database = this.#database();
    database.exec('BEGIN IMMEDIATE; DELETE FROM moves');
    if (mark.state !== 'none') {
      const { state, move, other } = mark;
      database.prepare('INSERT INTO moves VALUES (?, ?, ?)').run(state, move, other);
    }
    database.exec('COMMIT');
    this.#mark = mark;
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    const { database, lock } = this.#opened;
    foldWal(database);
    database.close();
    lock.release();
  }

  #open(lock: StoreLock): void {
    const database = openStill(this.#paths.database);
    this.#opened = { lock, database };
    this.#statements = new Statements(database);
  }

  #database(): DatabaseSync {
    assert(this.#opened !== null, 'a chest is read or written that is not there');
    return this.#opened.database;
  }

  #still(): Statements {
    assert(this.#statements !== null, 'a chest is read or written that is not there');
    return this.#statements;
  }
}

/** What has to be sorted may be larger than the memory. */
function openStill(file: string): DatabaseSync {
  const database = openWriting(file, 'full');
  database.exec('PRAGMA temp_store = FILE');
  return database;
}

function plainRecords<K extends RecordKind>(kind: K): (row: Row) => RecordOf<K> {
  const truths = columnsOf(kind).flatMap(([name, type]) => (type === 'boolean' ? [name] : []));
  return (row) => {
    const record: Record<string, unknown> = { ...row };
    for (const name of truths) record[name] = row[name] === 1;
    // The columns of the statement are those of the record.
    return record as RecordOf<K>;
  };
}

function lengthOf(row: Row): number {
  let length = 0;
  for (const value of Object.values(row)) length += typeof value === 'string' ? value.length : 8;
  return length;
}

function refusalOf({ database }: StorePaths, error: unknown): unknown {
  const why = outage(error);
  return why === null ? error : unavailable(`${database}: ${why}`, error);
}
