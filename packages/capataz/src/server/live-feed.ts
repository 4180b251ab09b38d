import type { EventsPort } from '../engine/ports.ts';
import type { Clock } from '../std/clock.ts';
import type { EventPage } from '../store/contract.ts';

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

/** Entries read at once. */
const pageSize = 200;
/** Positions whose page is kept: the end, where most streams are, and some that are catching up. */
const maxPages = 8;
/** A message of another instance may be lost: a page is read anew after this time. */
const pageLifeMs = 1_000;

/** One subscription to the engine and one reading of what is new, shared by all open streams. */
export class LiveFeed {
  readonly #byJob = new Map<string, Set<Wake>>();
  readonly #ofAll = new Set<Wake>();
  readonly #byClient = new Map<string, number>();
  readonly #pages = new Map<
    number,
    { readonly page: Promise<EventPage>; readonly readAt: number }
  >();
  readonly #events: EventsPort;
  readonly #clock: Clock;
  /** Where nobody listens, nobody has to be told: it costs reading what other instances do. */
  #unsubscribe: (() => void) | null = null;

  constructor(events: EventsPort, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  #follow(): void {
    this.#unsubscribe ??= this.#events.subscribe((jobId) => {
      this.#pages.clear();
      for (const wake of this.#ofJobs(jobId)) wake.ring();
      for (const wake of this.#ofAll) wake.ring();
    });
  }

  #followNoMore(): void {
    if (this.#byJob.size > 0 || this.#ofAll.size > 0) return;
    this.#pages.clear();
    this.close();
  }

  *#ofJobs(jobId: string | null): Iterable<Wake> {
    if (jobId !== null) yield* this.#byJob.get(jobId) ?? [];
    else for (const wakes of this.#byJob.values()) yield* wakes;
  }

  /** What lies behind a position, read once for all who ask before something new is told. */
  page(position: number): Promise<EventPage> {
    const now = this.#clock.steady();
    for (const [at, { readAt }] of this.#pages) {
      if (now - readAt >= pageLifeMs) this.#pages.delete(at);
    }
    const known = this.#pages.get(position);
    if (known !== undefined) return known.page;
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= maxPages && oldest !== undefined) this.#pages.delete(oldest);
    const page = this.#events.read(position, pageSize);
    this.#pages.set(position, { page, readAt: now });
    // A failure is everybody's who asked by now, and nobody's who asks later.
    page.catch(() => {
      if (this.#pages.get(position)?.page === page) this.#pages.delete(position);
    });
    return page;
  }

  /** Counts a stream of this client. @returns what ends it. */
  enter(client: string): () => void {
    this.#byClient.set(client, this.openOf(client) + 1);
    return () => {
      const left = this.openOf(client) - 1;
      if (left > 0) this.#byClient.set(client, left);
      else this.#byClient.delete(client);
    };
  }

  /** Streams of this client that are open. */
  openOf(client: string): number {
    return this.#byClient.get(client) ?? 0;
  }

  /** Streams that are open. */
  get size(): number {
    let size = 0;
    for (const open of this.#byClient.values()) size += open;
    return size;
  }

  /** Rings when the job's book or progress may have grown. @returns what ends it. */
  onJob(jobId: string, wake: Wake): () => void {
    this.#follow();
    const wakes = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, wakes.add(wake));
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#byJob.get(jobId) === wakes) this.#byJob.delete(jobId);
      this.#followNoMore();
    };
  }

  /** Rings when any job's book may have grown. @returns what ends it. */
  onAny(wake: Wake): () => void {
    this.#follow();
    this.#ofAll.add(wake);
    return () => {
      this.#ofAll.delete(wake);
      this.#followNoMore();
    };
  }

  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }
}
