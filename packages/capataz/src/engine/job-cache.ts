import type { Job } from '../core/job.ts';
import { isFinal } from '../core/status.ts';

/**
 * The last known record of jobs that this instance worked on, so that a result needs no read. It is
 * never trusted: a commit on an outdated version is refused as stale, and the entry is dropped.
 */
export class JobCache {
  readonly #jobs = new Map<string, Job>();
  readonly #capacity: number;

  constructor(capacity = 20_000) {
    this.#capacity = capacity;
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  put(job: Job): void {
    if (isFinal(job.status)) {
      this.#jobs.delete(job.id);
      return;
    }
    const known = this.#jobs.get(job.id);
    if (known !== undefined && known.version > job.version) return;
    if (known === undefined && this.#jobs.size >= this.#capacity) this.#dropOldest();
    this.#jobs.set(job.id, job);
  }

  drop(id: string): void {
    this.#jobs.delete(id);
  }

  #dropOldest(): void {
    for (const id of this.#jobs.keys()) {
      this.#jobs.delete(id);
      return;
    }
  }
}
