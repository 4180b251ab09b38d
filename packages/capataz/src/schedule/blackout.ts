import { checkedDays } from './rule.ts';
import { RuleError } from './rule-error.ts';
import { type Slots, slots } from './slots.ts';
import { parseTimeOfDay, type Weekday, weekdays } from './wall-time.ts';

/** A window that comes again and again, in which schedules that name it start nothing. */
export interface BlackoutDefinition {
  /** `HH:MM`, in it. */
  readonly from: string;
  /** `HH:MM`, no longer in it; earlier than `from`: of the next day. `24:00` is the day's end. */
  readonly to: string;
  /** The days on which it begins. Default: every day. */
  readonly days?: readonly Weekday[];
  readonly zone: string;
}

/** One time that a blackout comes, from its first instant to the first one behind it. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** A blackout that was understood. */
export interface Blackout {
  readonly name: string;
  /** The window that an instant lies in. */
  at(instant: number): Window | null;
}

/**
 * Its bounds are slots like any others: what changes of the clocks do to those they do to it, and it
 * has no holes.
 * @throws RuleError
 */
export function blackout(name: string, definition: BlackoutDefinition): Blackout {
  const { from, to, days = weekdays, zone } = definition;
  if (parseTimeOfDay(from) === undefined) {
    throw new RuleError('from', `must be a time from 00:00 to 23:59 like 22:00, not "${from}"`);
  }
  if (parseTimeOfDay(to) === undefined && to !== '24:00') {
    throw new RuleError('to', `must be a time from 00:00 to 24:00 like 06:00, not "${to}"`);
  }
  if (from === to) {
    throw new RuleError('to', 'is the same as from; a whole day is from "00:00" to "24:00"');
  }
  const starts = slots({ weeklyDays: checkedDays('days', days), time: from }, zone);
  const ends = slots({ dailyAt: to === '24:00' ? '00:00' : to }, zone);
  const isWholeDay = from === '00:00' && to === '24:00';
  return { name, at: (instant) => windowAt(instant, { starts, ends, isWholeDay }) };
}

interface Bounds {
  readonly starts: Slots;
  readonly ends: Slots;
  readonly isWholeDay: boolean;
}

function windowAt(instant: number, { starts, ends, isWholeDay }: Bounds): Window | null {
  const start = starts.previous(instant + 1);
  if (start === null) return null;
  // Both bounds in one gap are the same instant: such a window is empty, and does not last a day.
  const end = ends.next(isWholeDay ? start : start - 1);
  return end !== null && instant < end ? { start, end } : null;
}
