import { type Duration, parseDuration } from '../std/duration.ts';
import { cronTiming } from './cron.ts';
import { RuleError } from './rule-error.ts';
import type { CalendarTiming, IntervalTiming, Timing } from './timing.ts';
import {
  dateOf,
  isLastOfMonth,
  parseTimeOfDay,
  secondMs,
  type Weekday,
  weekdayOf,
  weekdays,
} from './wall-time.ts';

/** One time of day, `HH:MM`, or several. */
export type Times = string | readonly string[];

/** When a schedule comes round. Every form but `every` reads the wall clock of the schedule's zone. */
export type Rule =
  | IntervalRule
  | { readonly dailyAt: Times }
  | { readonly weeklyDays: readonly Weekday[]; readonly time: Times }
  /** From 1 to 31, or the last one. A month without that day has no slot. */
  | { readonly monthlyDates: readonly (number | 'last')[]; readonly time: Times }
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  | { readonly cron: string };

export interface IntervalRule {
  /** At least a second. Elapsed time: changes of the clocks don't matter. */
  readonly every: Duration;
  /** The first slot, in ISO 8601 with an offset. Default: 1970-01-01T00:00:00Z. */
  readonly anchor?: string;
}

/** @throws RuleError that names the field. */
export function timingOf(rule: Rule): Timing {
  if ('every' in rule) return intervalTiming(rule);
  if ('cron' in rule) return cronTiming(rule.cron);
  if ('dailyAt' in rule) return calendar(() => true, minutesOf('dailyAt', rule.dailyAt));
  const minutes = minutesOf('time', rule.time);
  return 'weeklyDays' in rule
    ? calendar(weeklyDays(rule.weeklyDays), minutes)
    : calendar(monthlyDates(rule.monthlyDates), minutes);
}

function calendar(isOn: (day: number) => boolean, minutes: readonly number[]): CalendarTiming {
  return { type: 'calendar', isOn, minutes, followsClock: false };
}

function intervalTiming({ every, anchor }: IntervalRule): IntervalTiming {
  const everyMs = parseDuration(every);
  if (everyMs === undefined) {
    throw new RuleError('every', `must be a duration like 10s, 5m or 1h30m, not "${every}"`);
  }
  if (everyMs < secondMs) throw new RuleError('every', `must be at least 1s, not "${every}"`);
  return { type: 'interval', everyMs, anchor: anchor === undefined ? 0 : instantOf(anchor) };
}

function instantOf(anchor: string): number {
  const instant = Date.parse(anchor);
  const hasOffset = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(anchor);
  if (hasOffset && !Number.isNaN(instant)) return instant;
  const example = '2026-01-05T06:00:00Z';
  throw new RuleError('anchor', `must be an instant with an offset like ${example}`);
}

function minutesOf(field: string, times: Times): number[] {
  const texts = typeof times === 'string' ? [times] : times;
  if (texts.length === 0) throw new RuleError(field, 'must name at least one time');
  const minutes = texts.map((text) => {
    const minute = parseTimeOfDay(text);
    if (minute !== undefined) return minute;
    throw new RuleError(field, `must be a time from 00:00 to 23:59 like 02:30, not "${text}"`);
  });
  return [...new Set(minutes)].sort((a, b) => a - b);
}

function weeklyDays(names: readonly Weekday[]): (day: number) => boolean {
  const chosen = new Set<Weekday>(checkedDays('weeklyDays', names));
  return (day) => chosen.has(weekdayOf(day));
}

/** @throws RuleError for a list without days and for what is none. */
export function checkedDays(field: string, names: readonly string[]): readonly Weekday[] {
  if (names.length === 0) throw new RuleError(field, 'must name at least one day');
  return names.map((name) => {
    const weekday = weekdays.find((known) => known === name);
    if (weekday !== undefined) return weekday;
    throw new RuleError(field, `must hold days out of ${weekdays.join(', ')}, not "${name}"`);
  });
}

function monthlyDates(dates: readonly (number | 'last')[]): (day: number) => boolean {
  if (dates.length === 0) throw new RuleError('monthlyDates', 'must name at least one day');
  for (const date of dates) {
    const isDate = typeof date === 'number' && Number.isInteger(date) && date >= 1 && date <= 31;
    if (isDate || date === 'last') continue;
    throw new RuleError('monthlyDates', `must hold days from 1 to 31, or "last", not ${date}`);
  }
  const chosen = new Set(dates);
  return (day) => chosen.has(dateOf(day)) || (chosen.has('last') && isLastOfMonth(day));
}
