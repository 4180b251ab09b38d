import type { CancelTimer, Clock } from '../std/clock.ts';
import type { BusEvent, Delivery } from './contract.ts';

/**
 * Events that lie in a store and can be read again: then what was sent while away is not lost (H-n).
 * Positions are the log's own; an event must never appear before one that was already read.
 */
export interface EventLog {
  /** Where this subscriber goes on; null: from the beginning. */
  position(): Promise<string | null>;
  /** Everything up to `position` has been handled. */
  save(position: string): Promise<void>;
  /** What follows `after`, in order, at most `limit` events. */
  read(after: string | null, limit: number): Promise<readonly LoggedEvent[]>;
  /** Keeps an event that will not be handled. It counts as done afterwards. */
  deadLetter(event: BusEvent, reason: string): Promise<void>;
}

export interface LoggedEvent {
  readonly event: BusEvent;
  readonly position: string;
}

interface ReplayParts {
  readonly log: EventLog;
  readonly clock: Clock;
  /** Most events that are read and not yet done. */
  readonly capacity: number;
  readonly take: (delivery: Delivery) => void;
  /** The log can't be read or written: the session is over. */
  readonly fail: (error: unknown) => void;
}

interface Outstanding {
  readonly position: string;
  isDone: boolean;
}

/** Looks without being told, in case a live signal was lost on a link that seems to be well. */
const lookAgainMs = 30_000;

/** Reads the log from the stored position, and again whenever it is woken. One session's. */
export class Replay {
  readonly #parts: ReplayParts;
  readonly #outstanding: Outstanding[] = [];
  #readUpTo: string | null = null;
  #toSave: string | null = null;
  #isSaving = false;
  #isReading = false;
  #isCalled = false;
  #isStopped = false;
  #cancelLook: CancelTimer = () => undefined;

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    this.#readUpTo = await this.#parts.log.position();
    this.#look();
  }

  wake(): void {
    this.#isCalled = true;
    if (!this.#isReading && !this.#isStopped) void this.#read();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelLook();
  }

  #look(): void {
    if (this.#isStopped) return;
    this.#cancelLook = this.#parts.clock.after(lookAgainMs, () => this.#look());
    this.wake();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#isCalled && !this.#isStopped) {
        this.#isCalled = false;
        await this.#readPages();
      }
    } catch (error) {
      if (!this.#isStopped) this.#parts.fail(error);
    }
    this.#isReading = false;
  }

  async #readPages(): Promise<void> {
    for (;;) {
      const room = this.#parts.capacity - this.#outstanding.length;
      if (room <= 0) return;
      const page = await this.#parts.log.read(this.#readUpTo, room);
      if (this.#isStopped || page.length === 0) return;
      for (const logged of page) {
        this.#readUpTo = logged.position;
        this.#hand(logged);
      }
    }
  }

  #hand({ event, position }: LoggedEvent): void {
    const outstanding = { position, isDone: false };
    this.#outstanding.push(outstanding);
    const done = (): void => {
      if (outstanding.isDone || this.#isStopped) return;
      outstanding.isDone = true;
      this.#advance();
    };
    this.#parts.take({
      event,
      deliveries: 1,
      ack: done,
      release: () => undefined,
      deadLetter: async (reason) => {
        await this.#parts.log.deadLetter(event, reason);
        done();
      },
    });
  }

  /** The position only passes what is done without a gap, so that one set aside is read again after a restart. */
  #advance(): void {
    const wasFull = this.#outstanding.length >= this.#parts.capacity;
    while (this.#outstanding[0]?.isDone) {
      this.#toSave = this.#outstanding[0].position;
      this.#outstanding.shift();
    }
    if (!this.#isSaving) void this.#save();
    if (wasFull) this.wake();
  }

  async #save(): Promise<void> {
    this.#isSaving = true;
    try {
      while (this.#toSave !== null) {
        const position = this.#toSave;
        this.#toSave = null;
        await this.#parts.log.save(position);
      }
    } catch (error) {
      if (!this.#isStopped) this.#parts.fail(error);
    }
    this.#isSaving = false;
  }
}
