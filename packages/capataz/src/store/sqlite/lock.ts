import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { CapatazError } from '../../protocol/errors.ts';
import { isBusy } from './errors.ts';
import type { StorePaths } from './paths.ts';

/** Who holds a store, as it wrote itself beside the lock. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: number;
  /** Where its server listens, once it does (S-67). */
  readonly url: string | null;
}

/** An opener waits out a look of `describeHolder`, which takes well under a millisecond. */
const patienceMs = 250;

/**
 * The lock of a store (S-43): an exclusive transaction on an empty database of its own, held while
 * the store is open. The system frees it when the process dies, however it dies, so that nothing
 * is ever stale. (A file that names a process would need a guess whether that process still lives.)
 * Another file tells who the holder is; it is never asked whether somebody holds.
 *
 * POSIX locks belong to the process: nothing in this process may open the lock file by other means,
 * since closing it there would free the lock.
 */
export class StoreLock {
  readonly #paths: StorePaths;
  readonly #database: DatabaseSync;
  #holder: Holder;

  /** @throws CapatazError STORE_IN_USE, naming the holder. */
  constructor(paths: StorePaths, startedAt: number) {
    this.#paths = paths;
    this.#holder = { pid: process.pid, host: hostname(), startedAt, url: null };
    this.#database = new DatabaseSync(paths.lock, { timeout: patienceMs });
    try {
      // Nothing is ever written, so that no journal is needed beside it.
      this.#database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    } catch (error) {
      this.#database.close();
      throw isBusy(error) ? inUse(paths) : error;
    }
    this.#write();
  }

  publishUrl(url: string | null): void {
    this.#holder = { ...this.#holder, url };
    this.#write();
  }

  release(): void {
    rmSync(this.#paths.holder, { force: true });
    this.#database.close();
  }

  /** Renamed into place, so that nobody ever reads half of it. */
  #write(): void {
    const draft = `${this.#paths.holder}.new`;
    writeFileSync(draft, `${JSON.stringify(this.#holder)}\n`);
    renameSync(draft, this.#paths.holder);
  }
}

function inUse(paths: StorePaths): CapatazError {
  const holder = readHolder(paths);
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  const where = holder?.url == null ? '' : `, which serves ${holder.url}`;
  return new CapatazError(
    'STORE_IN_USE',
    `${paths.database} is held by ${who}${where}. Stop it, talk to it, or use another data folder.`,
    holder === null ? { path: paths.database } : { path: paths.database, ...holder },
  );
}

/** @returns the living holder of a store, or null if nobody holds it. */
export function livingHolder(paths: StorePaths): Holder | null {
  return isHeld(paths.lock) ? readHolder(paths) : null;
}

/** Reads the lock's database: refused as long as another has it exclusively. */
function isHeld(lock: string): boolean {
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(lock, { readOnly: true, timeout: 0 });
  } catch {
    return false;
  }
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

function readHolder({ holder }: StorePaths): Holder | null {
  try {
    return JSON.parse(readFileSync(holder, 'utf8')) as Holder;
  } catch {
    return null;
  }
}
