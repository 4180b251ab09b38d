import { rm } from 'node:fs/promises';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log, LogFields } from '../std/log.ts';
import type { FilesOptions } from './contract.ts';

export interface FileCleanerParts {
  readonly files: FilesOptions;
  /** Asked of the store: the job is not there, or has ended and keeps nothing. */
  readonly mayRemove: (jobId: string) => Promise<boolean>;
  /** What a line of the log says of a job. */
  readonly about: (jobId: string) => Promise<LogFields>;
  readonly clock: Clock;
  readonly log: Log;
}

const sweepEveryMs = 3_600_000;
const pageSize = 500;
/** Jobs looked at by one sweep; the next one goes on behind them. */
const mostPages = 20;
/** Removals that wait. More than this many are left to the sweep. */
const mostWaiting = 10_000;
const mostAtOnce = 4;

/**
 * Removes the files of jobs that have ended, after the commit that ended them. What a crash between
 * the two leaves behind is found by a sweep: at the start, and every hour.
 */
export class FileCleaner {
  readonly #parts: FileCleanerParts;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #cancelSweep: CancelTimer | null = null;
  #sweptUpTo = '';
  #isStopped = false;

  constructor(parts: FileCleanerParts) {
    this.#parts = parts;
  }

  /** Makes the place of the files usable; the first sweep runs on behind. */
  async start(): Promise<void> {
    const { store, workFolder } = this.#parts.files;
    await store.prepare();
    await rm(workFolder, { recursive: true, force: true });
    this.#beginSweep();
  }

  /** Begins nothing more, and waits for what it has begun. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelSweep?.();
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  /** To be called after the commit that ended this job. */
  onEnded(jobId: string): void {
    if (!this.#parts.files.keep) this.#removeSoon(jobId);
  }

  /** To be called when jobs were removed from the store for good: nobody can ask for their files. */
  onForgotten(jobIds: readonly string[]): void {
    for (const jobId of jobIds) this.#removeSoon(jobId);
  }

  #removeSoon(jobId: string): void {
    if (this.#isStopped || this.#waiting.size >= mostWaiting) return;
    this.#waiting.add(jobId);
    this.#removeNext();
  }

  #removeNext(): void {
    for (const jobId of this.#waiting) {
      if (this.#running.size >= mostAtOnce) return;
      this.#waiting.delete(jobId);
      this.#track(this.#remove(jobId).finally(() => queueMicrotask(() => this.#removeNext())));
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #remove(jobId: string): Promise<void> {
    const { files, about, log } = this.#parts;
    try {
      await files.store.remove(jobId);
    } catch (error) {
      const message = 'files of a job could not be removed; the next sweep tries again';
      log.warn(message, { ...(await about(jobId)), error });
    }
  }

  #beginSweep(): void {
    this.#track(this.#sweep());
  }

  async #sweep(): Promise<void> {
    const { log, clock } = this.#parts;
    try {
      const removed = await this.#sweepPages();
      if (removed > 0) log.info('files of jobs that are over were removed', { jobs: removed });
    } catch (error) {
      log.error('the sweep for files of jobs that are over broke off', { error });
    }
    if (!this.#isStopped) this.#cancelSweep = clock.after(sweepEveryMs, () => this.#beginSweep());
  }

  /** @returns for how many jobs something was removed. */
  async #sweepPages(): Promise<number> {
    const { files, mayRemove } = this.#parts;
    let removed = 0;
    for (let page = 0; page < mostPages; page += 1) {
      const jobIds = await files.store.jobs({ after: this.#sweptUpTo, limit: pageSize });
      for (const jobId of jobIds) {
        if (this.#isStopped) return removed;
        if (!(await mayRemove(jobId))) continue;
        await this.#remove(jobId);
        removed += 1;
      }
      this.#sweptUpTo = jobIds.length < pageSize ? '' : (jobIds.at(-1) ?? '');
      if (this.#sweptUpTo === '') break;
    }
    return removed;
  }
}
