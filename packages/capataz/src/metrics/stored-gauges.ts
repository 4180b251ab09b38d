import { phases } from '../core/phase.ts';
import { taskStatuses, workerStatuses } from '../core/status.ts';
import type { WorkersPort } from '../engine/ports.ts';
import type { Clock } from '../std/clock.ts';
import type { Counts, Store } from '../store/contract.ts';
import type { Instruments } from './instruments.ts';

/** How old a gauge may be (S-44): many scrapers cost no more than one. */
export const cacheMs = 5_000;

export interface StoredSources {
  readonly store: Pick<Store, 'counts' | 'now' | 'latestPosition' | 'archived'>;
  readonly workers: Pick<WorkersPort, 'list'>;
}

/**
 * Gauges that are read from the store at a scrape, so that they can't drift and are right whoever
 * changed what they count (H-47, H-ll). Every series is there from the first scrape, also at zero.
 */
export class StoredGauges {
  readonly #instruments: Instruments;
  readonly #sources: StoredSources & { readonly movesHistory: boolean };
  readonly #clock: Clock;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(
    instruments: Instruments,
    sources: StoredSources & { readonly movesHistory: boolean },
    clock: Clock,
  ) {
    this.#instruments = instruments;
    this.#sources = sources;
    this.#clock = clock;
  }

  /** @throws CapatazError STORE_UNAVAILABLE: an old figure would say that all is as it was. */
  async refresh(): Promise<void> {
    if (this.#clock.steady() - this.#readAt < cacheMs) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { store, workers } = this.#sources;
    const began = this.#clock.steady();
    const [counts, now, present] = await Promise.all([store.counts(), store.now(), workers.list()]);
    this.#showCounts(counts, now);
    const statuses = present.map(({ worker }) => worker.status);
    for (const state of workerStatuses) {
      const workersThere = statuses.filter((status) => status === state).length;
      this.#instruments.workersInState.set({ state }, workersThere);
    }
    this.#instruments.historyBacklog.set(await this.#historyBacklog());
    this.#readAt = began;
  }

  async #historyBacklog(): Promise<number> {
    const { store, movesHistory } = this.#sources;
    if (!movesHistory) return 0;
    const { position } = await store.archived();
    return (await store.latestPosition()) - position;
  }

  #showCounts({ phases: counted, tasks, outbox, deadLetters }: Counts, now: number): void {
    const { jobsInState, jobsOldestAge, tasksInState, outboxQueueSize, dlqSize } =
      this.#instruments;
    for (const state of phases) {
      const { jobs = 0, oldestAt = null } = counted[state] ?? {};
      jobsInState.set({ state }, jobs);
      jobsOldestAge.set({ state }, oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1_000);
    }
    for (const state of taskStatuses) tasksInState.set({ state }, tasks[state] ?? 0);
    outboxQueueSize.set(outbox);
    dlqSize.set(deadLetters);
  }
}
