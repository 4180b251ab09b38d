import type { CancelTimer, Clock } from '../std/clock.ts';

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Time that stands still until it is moved. Wall and steady clock go together unless `step` parts them. */
export class VirtualClock implements Clock {
  #steady = 0;
  #wallOffset: number;
  #order = 0;
  readonly #alarms = new Set<Alarm>();

  /** `now`: the wall clock's first reading, ms since 1970 UTC. Default 2026-01-01. */
  constructor({ now = Date.UTC(2026, 0, 1) }: { readonly now?: number } = {}) {
    this.#wallOffset = now;
  }

  now(): number {
    return this.#steady + this.#wallOffset;
  }

  steady(): number {
    return this.#steady;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    this.#order += 1;
    const alarm = { at: this.#steady + Math.max(0, delayMs), order: this.#order, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Sets the wall clock forward or back, as an operator or NTP does. Timers don't notice. */
  step(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Alarms that are set. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Ms until the next alarm, or null. */
  nextInMs(): number | null {
    const next = this.#next();
    return next === undefined ? null : next.at - this.#steady;
  }

  /** Moves time, and rings what is due in order; everything that follows from one alarm settles first. */
  async advance(ms: number): Promise<void> {
    const end = this.#steady + ms;
    await settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#alarms.delete(next);
      this.#steady = Math.max(this.#steady, next.at);
      next.callback();
      await settle();
    }
    this.#steady = end;
    await settle();
  }

  #next(): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms) {
      const earlier =
        first === undefined ||
        alarm.at < first.at ||
        (alarm.at === first.at && alarm.order < first.order);
      if (earlier) first = alarm;
    }
    return first;
  }
}

/** Lets every promise that can resolve do so: macrotasks run only when no microtask is left. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
