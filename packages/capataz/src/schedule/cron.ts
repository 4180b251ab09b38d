import { Cron, CronPattern } from 'croner';
import { RuleError } from './rule-error.ts';
import type { CalendarTiming } from './timing.ts';
import { dayMs } from './wall-time.ts';

const fields = [
  'minute (0 to 59)',
  'hour (0 to 23)',
  'day of the month (1 to 31, L)',
  'month (1 to 12)',
  'day of the week (0 to 7, mon to sun)',
] as const;

const options = { timezone: 'UTC', mode: '5-part', paused: true } as const;

/** Days, for each expression. */
const maxRemembered = 4_000;

/**
 * The library reads the expression and knows its days, also `L`, `15W` and `mon#2`. What changes of
 * the clocks do to it is ours (slots.ts), so that all rules are treated alike: the library is only
 * ever asked about days in UTC, which has no changes.
 * @throws RuleError
 */
export function cronTiming(expression: string): CalendarTiming {
  const texts = expression.trim().split(/\s+/);
  const [minute = '', hour = '', ...days] = texts;
  if (texts.length !== fields.length) {
    throw new RuleError('cron', `must have five fields (${fields.join(', ')})`);
  }
  for (const [place, text] of texts.entries()) checkField(place, text);
  const onDays = new Cron(`0 0 ${days.join(' ')}`, options);
  if (onDays.nextRun(new Date(0)) === null) {
    throw new RuleError('cron', `"${expression}" never comes: there is no such date`);
  }
  return {
    type: 'calendar',
    isOn: remembering((day) => onDays.match(new Date(day * dayMs))),
    minutes: minutesOf(new CronPattern(`${minute} ${hour} * * *`, 'UTC', options)),
    // As in the first cron: who says "every hour" means hours, who names one means that time.
    followsClock: hour === '*',
  };
}

/** The same days are asked for again and again, and the library takes 15 µs for one. */
function remembering(isOn: (day: number) => boolean): (day: number) => boolean {
  const known = new Map<number, boolean>();
  return (day) => {
    const before = known.get(day);
    if (before !== undefined) return before;
    if (known.size >= maxRemembered) known.clear();
    const answer = isOn(day);
    known.set(day, answer);
    return answer;
  };
}

/** Each one alone, so that the one which is wrong can be named. */
function checkField(place: number, text: string): void {
  const alone = fields.map((_, other) => (other === place ? text : '*')).join(' ');
  try {
    new CronPattern(alone, 'UTC', options);
  } catch {
    throw new RuleError('cron', `has "${text}" where the ${fields[place]} stands`);
  }
}

function minutesOf({ hour, minute }: CronPattern): number[] {
  return hour.flatMap((isOn, h) =>
    isOn ? minute.flatMap((isIn, m) => (isIn ? [h * 60 + m] : [])) : [],
  );
}
