import { isFinal } from '../core/status.ts';
import type { EventPage, Store } from '../store/contract.ts';
import type { Committed } from './committer.ts';
import type { EventsPort, Progress } from './ports.ts';

/** Tells listeners that a job's book grew. It carries no content: what is new is read from the store. */
export class Live implements EventsPort {
  readonly #store: Store;
  readonly #listeners = new Set<(jobId: string) => void>();
  /** Live only: progress is worth nothing once the attempt is over. */
  readonly #progress = new Map<string, Progress>();

  constructor(store: Store) {
    this.#store = store;
  }

  subscribe(listener: (jobId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read(after: number, limit: number): Promise<EventPage> {
    return this.#store.events(after, limit);
  }

  progress(jobId: string): Progress | null {
    return this.#progress.get(jobId) ?? null;
  }

  onProgress(jobId: string, progress: Progress): void {
    this.#progress.set(jobId, progress);
    this.#tell(jobId);
  }

  /** A handler's own; a task's goes with its report. */
  onProgressEnd(jobId: string, attempt: string): void {
    if (this.#progress.get(jobId)?.attempt === attempt) this.#progress.delete(jobId);
  }

  onCommitted({ done, jobIds }: Committed): void {
    if (this.#progress.size > 0) {
      for (const { outcome, request } of done) {
        const attemptOver = request.change.tasks.some((task) => 'attempt' in task);
        if (attemptOver || isFinal(outcome.job.status)) this.#progress.delete(outcome.job.id);
      }
    }
    if (this.#listeners.size === 0) return;
    for (const jobId of jobIds) this.#tell(jobId);
  }

  #tell(jobId: string): void {
    for (const listener of this.#listeners) listener(jobId);
  }
}
