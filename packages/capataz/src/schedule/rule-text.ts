import type { Rule, Times } from './rule.ts';

/** A rule in words: `daily at 02:30`. */
export function ruleText(rule: Rule): string {
  if ('every' in rule) {
    return `every ${rule.every}${rule.anchor === undefined ? '' : ` from ${rule.anchor}`}`;
  }
  if ('cron' in rule) return `cron ${rule.cron}`;
  if ('dailyAt' in rule) return `daily at ${timesText(rule.dailyAt)}`;
  const days =
    'weeklyDays' in rule
      ? rule.weeklyDays.join(', ')
      : `monthly on ${rule.monthlyDates.join(', ')}`;
  return `${days} at ${timesText(rule.time)}`;
}

function timesText(times: Times): string {
  return typeof times === 'string' ? times : times.join(', ');
}
