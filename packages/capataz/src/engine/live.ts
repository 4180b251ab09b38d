import { isFinal } from '../core/status.ts';
import type { EventPage, Store } from '../store/contract.ts';
import type { Books } from './books.ts';
import type { Committed } from './committer.ts';
import type { EventsPort, Progress } from './ports.ts';

/** Entries of other instances' commits that are read at once. */
const pageSize = 500;

/** Tells listeners that a job's book grew. It carries no content: what is new is read from the store. */
export class Live implements EventsPort {
  readonly #store: Pick<Store, 'latestPosition'>;
  readonly #books: Books;
  readonly #listeners = new Set<(jobId: string | null) => void>();
  /** Up to where the commits of other instances were told; null: not since somebody listens. */
  #position: number | null = null;
  /** Live only: progress is worth nothing once the attempt is over. */
  readonly #progress = new Map<string, Progress>();

  constructor(store: Pick<Store, 'latestPosition'>, books: Books) {
    this.#store = store;
    this.#books = books;
  }

  subscribe(listener: (jobId: string | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read(after: number, limit: number): Promise<EventPage> {
    return this.#books.events(after, limit);
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

  /** Another instance has committed something: what, is looked up once for all who listen. */
  async catchUp(): Promise<void> {
    if (this.#listeners.size === 0) {
      this.#position = null;
      return;
    }
    if (this.#position === null) {
      this.#position = await this.#store.latestPosition();
      return this.#tell(null);
    }
    for (let more = true; more; ) {
      const { events, position }: EventPage = await this.#books.events(this.#position, pageSize);
      for (const jobId of new Set(events.map((event) => event.jobId))) this.#tell(jobId);
      more = position > this.#position && events.length > 0;
      this.#position = position;
    }
  }

  #tell(jobId: string | null): void {
    for (const listener of this.#listeners) listener(jobId);
  }
}
