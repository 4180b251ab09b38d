import type { Job } from '../core/job.ts';
import { isFinal } from '../core/status.ts';
import { jsonWeight } from '../std/json.ts';

/** Jobs whose payloads weigh more are read anew each time: 20,000 of them would be gigabytes. */
const maxWeight = 4 * 1024;

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
    const known = this.#jobs.get(job.id);
    if (isFinal(job.status) || isHeavy(job)) {
      // What is known of a heavy one may be the newer: it is dropped all the same, and read again.
      this.#jobs.delete(job.id);
      return;
    }
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

function isHeavy({ input, data, options, error }: Job): boolean {
  return jsonWeight([input, data, options, error], maxWeight) > maxWeight;
}
