import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { JobEvent } from '../store/contract.ts';
import type { EventsPort } from './ports.ts';

export interface FeedOptions {
  /** For the log. */
  readonly name: string;
  /** Which events are handed over. Default all. */
  readonly filter?: (event: JobEvent) => boolean;
  /**
   * The position up to which `apply` has stored everything, 0 at first. It lies with what `apply`
   * stores, so that both move in one transaction and nothing is projected twice.
   */
  readonly position: () => number | Promise<number>;
  /**
   * Takes events in order and remembers `position`. Called again with the same ones when it throws,
   * after a pause; may be called with none of them where the filter left none.
   */
  readonly apply: (events: readonly JobEvent[], position: number) => void | Promise<void>;
}

interface FeedParts {
  readonly events: EventsPort;
  readonly clock: Clock;
  readonly log: Log;
}

const pageSize = 500;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** Looks without being told: what another instance has written announces itself to nobody here. */
const lookAgainMs = 30_000;

/** Delivers the book of all jobs to an application, at least once, each job's entries in order (S-66). */
export class Feed {
  readonly #options: FeedOptions;
  readonly #parts: FeedParts;
  #unsubscribe: () => void = () => undefined;
  #cancelAlarm: CancelTimer = () => undefined;
  #running: Promise<void> | null = null;
  #isCalled = false;
  #isStopped = false;
  #failures = 0;

  constructor(options: FeedOptions, parts: FeedParts) {
    this.#options = options;
    this.#parts = parts;
  }

  start(): void {
    this.#unsubscribe = this.#parts.events.subscribe(() => this.#call());
    this.#call();
  }

  /** Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#cancelAlarm();
    await this.#running;
  }

  #call(): void {
    this.#isCalled = true;
    if (this.#running !== null || this.#isStopped || this.#failures > 0) return;
    this.#cancelAlarm();
    this.#running = this.#deliver().then((pauseMs) => {
      this.#running = null;
      if (this.#isStopped) return;
      this.#cancelAlarm = this.#parts.clock.after(pauseMs, () => {
        this.#failures = 0;
        this.#call();
      });
    });
  }

  /** Everything that is new. @returns how long to pause until the next look. */
  async #deliver(): Promise<number> {
    try {
      do {
        this.#isCalled = false;
        while (!this.#isStopped && (await this.#page()));
      } while (this.#isCalled && !this.#isStopped);
      return lookAgainMs;
    } catch (error) {
      this.#failures += 1;
      const { name } = this.#options;
      this.#parts.log.error('a feed could not be applied; trying again', { feed: name, error });
      return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10));
    }
  }

  /** @returns whether there was anything. */
  async #page(): Promise<boolean> {
    const { position, filter = () => true, apply } = this.#options;
    const after = await position();
    const page = await this.#parts.events.read(after, pageSize);
    if (page.position <= after) return false;
    await apply(page.events.filter(filter), page.position);
    return true;
  }
}
