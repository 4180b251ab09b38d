import { type CancelTimer, type Clock, delay } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { News, Store } from '../store/contract.ts';
import { StoreTrouble } from './store-trouble.ts';

export interface NeighboursParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Another instance has committed something: tasks may be queued, deadlines set, books have grown. */
  readonly onCommits: () => Promise<void>;
  /** These workers registered elsewhere, were steered there, or are gone; null: any may. */
  readonly onWorkers: (ids: readonly string[] | null) => Promise<void>;
}

/** Under load the others commit all the time: one look serves what came meanwhile. */
const pauseMs = 5;
const retryMs = 1_000;

/** Follows what other instances do on the same store. One that serves one instance has no news. */
export class Neighbours {
  readonly #parts: NeighboursParts;
  readonly #trouble: StoreTrouble;
  readonly #stopping = new AbortController();
  #unsubscribe: () => void = () => undefined;
  #running: Promise<void> | null = null;
  #hasCommitted = false;
  #workers: Set<string> | null = new Set();
  #cancelRetry: CancelTimer = () => undefined;

  constructor(parts: NeighboursParts) {
    this.#parts = parts;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'the work of other instances could not be read; trying again',
      ends: 'the work of other instances can be read again',
    });
  }

  start(): void {
    this.#unsubscribe = this.#parts.store.subscribe((news) => this.#onNews(news));
  }

  /** Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe();
    this.#cancelRetry();
    await this.#running;
  }

  #onNews(news: News): void {
    if (news.type === 'worker') this.#workers?.add(news.id);
    else this.#hasCommitted = true;
    if (news.type === 'anything') this.#workers = null;
    this.#running ??= this.#follow();
  }

  async #follow(): Promise<void> {
    while (this.#isBehind()) {
      await this.#look();
      await delay(this.#parts.clock, pauseMs, this.#stopping.signal);
    }
    this.#running = null;
  }

  #isBehind(): boolean {
    if (this.#stopping.signal.aborted) return false;
    return this.#hasCommitted || this.#workers === null || this.#workers.size > 0;
  }

  async #look(): Promise<void> {
    const [workers, hasCommitted] = [this.#workers, this.#hasCommitted];
    this.#workers = new Set();
    this.#hasCommitted = false;
    try {
      if (workers === null) await this.#parts.onWorkers(null);
      else if (workers.size > 0) await this.#parts.onWorkers([...workers]);
      if (hasCommitted) await this.#parts.onCommits();
      this.#trouble.isOver();
    } catch (error) {
      this.#trouble.met(error);
      this.#cancelRetry();
      const again = (): void => this.#onNews({ type: 'anything' });
      this.#cancelRetry = this.#parts.clock.after(retryMs, again);
    }
  }
}
