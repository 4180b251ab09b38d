import type { EventsPort } from '../engine/ports.ts';

/** Remembers that something happened until somebody asks, so that no ring between two waits is lost. */
export class Wake {
  #isRung = false;
  #resolve: (() => void) | null = null;

  ring(): void {
    this.#isRung = true;
    this.#resolve?.();
  }

  /** Resolves when it has been rung since the last call. */
  async next(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
      this.#resolve = null;
    }
    this.#isRung = false;
  }
}

/** One subscription to the engine, shared by all open streams. */
export class LiveFeed {
  readonly #byJob = new Map<string, Set<Wake>>();
  readonly #ofAll = new Set<Wake>();
  readonly #unsubscribe: () => void;

  constructor(events: EventsPort) {
    this.#unsubscribe = events.subscribe((jobId) => {
      for (const wake of this.#byJob.get(jobId) ?? []) wake.ring();
      for (const wake of this.#ofAll) wake.ring();
    });
  }

  /** Streams that are open. */
  get size(): number {
    let size = this.#ofAll.size;
    for (const wakes of this.#byJob.values()) size += wakes.size;
    return size;
  }

  /** Rings when the job's book or progress may have grown. @returns what ends it. */
  onJob(jobId: string, wake: Wake): () => void {
    const wakes = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, wakes.add(wake));
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#byJob.get(jobId) === wakes) this.#byJob.delete(jobId);
    };
  }

  /** Rings when any job's book may have grown. @returns what ends it. */
  onAny(wake: Wake): () => void {
    this.#ofAll.add(wake);
    return () => this.#ofAll.delete(wake);
  }

  close(): void {
    this.#unsubscribe();
  }
}
