import { assert } from './assert.ts';
import type { CancelTimer, Clock } from './clock.ts';

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
  cancel: CancelTimer;
}

/**
 * A clock that goes like another and can be moved forward from outside: what a test of a whole
 * process has in place of the virtual clock. Alarms that have become due ring at once, in order.
 */
export class MovableClock implements Clock {
  readonly #base: Clock;
  readonly #alarms = new Set<Alarm>();
  #offsetMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now() + this.#offsetMs;
  }

  steady(): number {
    return this.#base.steady() + this.#offsetMs;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const alarm = { at: this.steady() + Math.max(0, delayMs), callback, cancel: () => {} };
    this.#alarms.add(alarm);
    this.#arm(alarm);
    return () => {
      this.#alarms.delete(alarm);
      alarm.cancel();
    };
  }

  advance(ms: number): void {
    assert(ms >= 0, 'a clock is moved forward only');
    this.#offsetMs += ms;
    const inOrder = [...this.#alarms].sort((a, b) => a.at - b.at);
    for (const alarm of inOrder) {
      alarm.cancel();
      this.#arm(alarm);
    }
  }

  #arm(alarm: Alarm): void {
    alarm.cancel = this.#base.after(alarm.at - this.steady(), () => {
      this.#alarms.delete(alarm);
      alarm.callback();
    });
  }
}
