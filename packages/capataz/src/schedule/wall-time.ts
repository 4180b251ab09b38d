/**
 * Times as a clock on the wall shows them, without a zone: ms since 1970-01-01 00:00 on that wall.
 * Days are numbered from 1970-01-01 as 0, minutes of a day from 0.
 */
export const secondMs = 1_000;
export const minuteMs = 60_000;
export const dayMs = 86_400_000;

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

export function dayOf(wall: number): number {
  return Math.floor(wall / dayMs);
}

export function weekdayOf(day: number): Weekday {
  // 1970-01-01 was a Thursday.
  const place = (((day + 3) % 7) + 7) % 7;
  return weekdays[place] ?? 'mon';
}

/** The day of the month, from 1. */
export function dateOf(day: number): number {
  return new Date(day * dayMs).getUTCDate();
}

export function isLastOfMonth(day: number): boolean {
  return dateOf(day + 1) === 1;
}

/** @returns minutes since midnight; undefined for what is not `HH:MM` from 00:00 to 23:59. */
export function parseTimeOfDay(text: string): number | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return match === null ? undefined : Number(match[1]) * 60 + Number(match[2]);
}
