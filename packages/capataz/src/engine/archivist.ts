import type { Log } from '../std/log.ts';
import type { Archive, Store } from '../store/contract.ts';

export interface ArchivistParts {
  readonly store: Store;
  readonly log: Log;
  /** `off`: books of ended jobs are wanted nowhere. */
  readonly archive: Archive | 'off';
}

/**
 * Until then streams, feeds and other instances read of a job's end in the store: they follow within
 * seconds, and look by themselves after 30 s at the latest.
 */
export const movedAfterMs = 60_000;
/** Of a page: some 10 ms of writing on either side. */
const rowsAtOnce = 500;
const jobsAtOnce = 500;

/** Not the archive but the store could not do its part. */
class StoreFailed extends Error {}

async function ofStore<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    throw new StoreFailed('the store could not do its part', { cause });
  }
}

/** Moves the books of ended jobs out of the store: into the archive, or away. */
export class Archivist {
  readonly #parts: ArchivistParts;
  #isStopped = false;
  #isAway = false;

  constructor(parts: ArchivistParts) {
    this.#parts = parts;
  }

  /**
   * Page by page until nothing is left to be moved now; other work goes in between.
   * @throws CapatazError what the store said; trouble of the archive is told in the log
   */
  async sweep(): Promise<void> {
    const { archive } = this.#parts;
    try {
      if (archive === 'off') await this.#move(null);
      else await this.#sweepInto(archive);
    } catch (error) {
      throw error instanceof StoreFailed ? error.cause : error;
    }
  }

  async #sweepInto(archive: Archive): Promise<void> {
    try {
      await archive.alone(async () => {
        await this.#forget(archive);
        await this.#move(archive);
      });
      this.#onAnswer(archive);
    } catch (error) {
      if (error instanceof StoreFailed) throw error;
      this.#onFailure(archive, error);
    }
  }

  /** What is begun ends; nothing more is begun. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Written there first: whoever dies in between has it done again, and nothing is lost or doubled. */
  async #move(archive: Archive | null): Promise<void> {
    const { store } = this.#parts;
    for (let more = true; more && !this.#isStopped; ) {
      const page = await ofStore(store.booksToMove(movedAfterMs, rowsAtOnce));
      ({ more } = page);
      if (page.rows.length > 0) await archive?.write(page.rows);
      await ofStore(store.booksMoved({ ...page, isArchived: archive !== null }));
    }
  }

  async #forget(archive: Archive): Promise<void> {
    const { store } = this.#parts;
    for (let more = true; more && !this.#isStopped; ) {
      const jobIds = await ofStore(store.forgottenInArchive(jobsAtOnce));
      more = jobIds.length === jobsAtOnce;
      if (jobIds.length === 0) return;
      await archive.forget(jobIds);
      await ofStore(store.archiveForgot(jobIds));
    }
  }

  #onFailure({ name }: Archive, error: unknown): void {
    if (this.#isAway || this.#isStopped) return;
    this.#isAway = true;
    const text = 'history can not be moved to its database; it stays in the store meanwhile';
    this.#parts.log.warn(text, { history: name, error });
  }

  #onAnswer({ name }: Archive): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#parts.log.info('history is moved to its database again', { history: name });
  }
}
