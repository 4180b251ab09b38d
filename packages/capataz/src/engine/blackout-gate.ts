import type { TaskClass } from '../core/requirements.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';

/** Windows of time in which tasks that name them stay in the queue. */
export interface BlackoutCalendar {
  has(name: string): boolean;
  /** When the window ends that the instant lies in; null: it lies in none. */
  endAt(name: string, instant: number): number | null;
}

export const noBlackouts: BlackoutCalendar = { has: () => false, endAt: () => null };

interface GateParts {
  readonly calendar: BlackoutCalendar;
  readonly clock: Clock;
  /** The instant that is looked up in the calendar. */
  readonly now: () => number;
  readonly log: Log;
  /** A blackout has ended: what it kept may be handed out. */
  readonly onOpen: () => void;
}

/** The wall clock may be set meanwhile. */
const longestSleepMs = 60_000;

/**
 * Keeps tasks in the queue while a blackout that they name lasts. It is asked at every hand-out, so that
 * a task which was queued before its window began is kept, too. What is at work goes on.
 */
export class BlackoutGate {
  readonly #parts: GateParts;
  #cancelAlarm: CancelTimer = () => undefined;
  #opensAt = Number.POSITIVE_INFINITY;
  readonly #missing = new Set<string>();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  stop(): void {
    this.#cancelAlarm();
  }

  isShut({ notDuring }: Pick<TaskClass, 'notDuring'>): boolean {
    if (notDuring === undefined) return false;
    const now = this.#parts.now();
    const endAt = this.#parts.calendar.endAt(notDuring, now);
    if (endAt === null) {
      this.#tellMissing(notDuring);
      return false;
    }
    this.#openIn(Math.min(endAt - now, longestSleepMs));
    return true;
  }

  /** It was there when the task was dispatched. To keep the task for ever would be worse. */
  #tellMissing(name: string): void {
    const { calendar, log } = this.#parts;
    if (calendar.has(name) || this.#missing.has(name)) return;
    this.#missing.add(name);
    log.warn('tasks name a blackout that there is no more; they are handed out', {
      blackout: name,
    });
  }

  #openIn(ms: number): void {
    const { clock, onOpen } = this.#parts;
    const at = clock.steady() + ms;
    if (at >= this.#opensAt) return;
    this.#cancelAlarm();
    this.#opensAt = at;
    this.#cancelAlarm = clock.after(ms, () => {
      this.#opensAt = Number.POSITIVE_INFINITY;
      onOpen();
    });
  }
}
