import type { Log } from '../std/log.ts';
import type { Store } from '../store/contract.ts';
import type { EngineSettings } from './settings.ts';

export interface RetentionParts {
  readonly store: Store;
  readonly log: Log;
  readonly settings: Pick<EngineSettings, 'retentionAgeMs' | 'retentionCount'>;
  /**
   * Told of jobs that the store has forgotten, so that what else is theirs goes, too. A process that
   * dies in between never tells. Default: nothing is done.
   */
  readonly onForgotten?: OnForgotten;
}

export type OnForgotten = (jobIds: readonly string[]) => void | Promise<void>;

/** Jobs in one call of the store: some 10 ms of its writing. */
const jobsAtOnce = 500;
const lettersAtOnce = 1_000;

/** Forgets ended jobs by age and by number, and resolved dead letters by age. */
export class Retention {
  readonly #parts: RetentionParts;
  #isStopped = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Slice by slice until nothing is left that is to be forgotten now; other work goes in between. */
  async sweep(): Promise<void> {
    const { store, log, settings, onForgotten } = this.#parts;
    const olderThanMs = settings.retentionAgeMs || null;
    const keepAtMost = settings.retentionCount || null;
    if (olderThanMs === null && keepAtMost === null) return;
    let count = 0;
    for (let more = true; more && !this.#isStopped; ) {
      const forgotten = await store.forgetEnded({ olderThanMs, keepAtMost, limit: jobsAtOnce });
      ({ more } = forgotten);
      count += forgotten.jobIds.length;
      if (forgotten.jobIds.length > 0) await onForgotten?.(forgotten.jobIds);
    }
    if (count > 0) log.info('forgot ended jobs', { count });
    if (olderThanMs !== null) await this.#sweepLetters(olderThanMs);
  }

  async #sweepLetters(olderThanMs: number): Promise<void> {
    for (let forgotten = lettersAtOnce; forgotten === lettersAtOnce && !this.#isStopped; )
      forgotten = await this.#parts.store.forgetLetters(olderThanMs, lettersAtOnce);
  }

  /** What is begun ends; nothing more is begun. */
  stop(): void {
    this.#isStopped = true;
  }
}
