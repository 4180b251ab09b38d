import type { Rule, Times } from '../schedule/rule.ts';
import type { Weekday } from '../schedule/wall-time.ts';
import { kindOf } from './toml.ts';
import type { TomlEntry } from './toml-entry.ts';

/** One of these makes the rule, `time` and `anchor` belong to some of them. */
const forms = [
  'every',
  'interval_seconds',
  'daily_at',
  'weekly_days',
  'monthly_dates',
  'cron',
] as const;

export const ruleKeys = [...forms, 'time', 'anchor'] as const;

const formsWithTime = ['weekly_days', 'monthly_dates'];
const formsWithAnchor = ['every', 'interval_seconds'];

/**
 * The rule that the fields of an entry make. What its values say is looked at when slots are made of
 * it; here they only get their types.
 * @returns null where there is none; the problem is noted.
 */
export function readRule(entry: TomlEntry): Rule | null {
  const given = forms.filter((form) => entry.has(form));
  const [form] = given;
  if (form === undefined || given.length > 1) {
    const found = form === undefined ? 'there is none' : `there are ${given.join(' and ')}`;
    entry.problem(null, `exactly one of ${forms.join(', ')} says when; ${found}`);
    return null;
  }
  belongsTo(entry, 'time', { form, forms: formsWithTime });
  belongsTo(entry, 'anchor', { form, forms: formsWithAnchor });
  return ruleOfForm(form, entry);
}

function ruleOfForm(form: (typeof forms)[number], entry: TomlEntry): Rule | null {
  switch (form) {
    case 'every':
      return intervalOf(entry, entry.string('every'));
    case 'interval_seconds':
      return intervalOf(entry, secondsIn(entry));
    case 'cron':
      return ruleOf(entry.string('cron'), (cron) => ({ cron }));
    case 'daily_at':
      return ruleOf(timesIn(entry, 'daily_at'), (dailyAt) => ({ dailyAt }));
    case 'weekly_days':
      return timed(entry, entry.strings('weekly_days'), (days, time) => ({
        // What is no day is found when slots are made.
        weeklyDays: days as readonly Weekday[],
        time,
      }));
    case 'monthly_dates':
      return timed(entry, datesIn(entry), (monthlyDates, time) => ({ monthlyDates, time }));
  }
}

function belongsTo(
  entry: TomlEntry,
  field: string,
  { form, forms: its }: { readonly form: string; readonly forms: readonly string[] },
): void {
  if (!entry.has(field) || its.includes(form)) return;
  entry.problem(field, `belongs to ${its.join(' or ')}, not to ${form}`);
}

function ruleOf<T>(value: T | undefined, make: (value: T) => Rule): Rule | null {
  return value === undefined ? null : make(value);
}

function timed<T>(
  entry: TomlEntry,
  days: T | undefined,
  make: (days: T, time: Times) => Rule,
): Rule | null {
  const time = timesIn(entry, 'time');
  if (!entry.has('time')) entry.problem('time', 'is missing');
  return days === undefined || time === undefined ? null : make(days, time);
}

function intervalOf(entry: TomlEntry, every: string | undefined): Rule | null {
  const anchor = entry.value('anchor');
  if (every === undefined) return null;
  if (anchor === undefined) return { every };
  if (anchor instanceof Date) return { every, anchor: anchor.toISOString() };
  entry.problem('anchor', `must be a date with its time, not ${kindOf(anchor)}`);
  return null;
}

function secondsIn(entry: TomlEntry): string | undefined {
  const seconds = entry.integer('interval_seconds', [1, 315_360_000]);
  return seconds === undefined ? undefined : `${seconds}s`;
}

function timesIn(entry: TomlEntry, field: string): Times | undefined {
  const value = entry.value(field);
  if (typeof value === 'string') return value;
  if (value instanceof Date) {
    entry.problem(field, 'must be a string like "02:30", with its quotation marks');
    return undefined;
  }
  return entry.strings(field);
}

function datesIn(entry: TomlEntry): readonly (number | 'last')[] | undefined {
  const value = entry.value('monthly_dates');
  const isDate = (one: unknown): one is number | 'last' =>
    typeof one === 'number' || one === 'last';
  if (Array.isArray(value) && value.every(isDate)) return value;
  entry.problem('monthly_dates', 'must be a list of days from 1 to 31, or "last"');
  return undefined;
}
