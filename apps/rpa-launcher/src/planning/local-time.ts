/** An instant as the clocks of a zone show it. */
export interface LocalTime {
  /** `YYYY-MM-DD` */
  readonly date: string;
  /** `HH:MM:SS` */
  readonly time: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  // The Swedish form is ISO's: 2026-01-31 23:59:59.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  formats.set(zone, format);
  return format;
}

/** `YYYY-MM-DD HH:MM:SS`, as the local columns of the tables have it. */
export function localText(instant: number, zone: string): string {
  return formatOf(zone).format(instant);
}

export function localTime(instant: number, zone: string): LocalTime {
  const [date = '', time = ''] = localText(instant, zone).split(' ');
  return { date, time };
}

/** As the seed writes days of the week, Monday first. */
export const weekdays = ['LU', 'MA', 'MI', 'JU', 'VI', 'SA', 'DO'] as const;
export type Weekday = (typeof weekdays)[number];

export interface CalendarDay {
  readonly weekday: Weekday;
  /** From 1. */
  readonly day: number;
  readonly daysInMonth: number;
}

/** @param date `YYYY-MM-DD` */
export function calendarDay(date: string): CalendarDay {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  const place = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return { weekday: weekdays[place] ?? 'LU', day, daysInMonth };
}

/** @param date `YYYY-MM-DD` */
export function dayBefore(date: string): string {
  return new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
}

/** @returns seconds since midnight, or null for what is not `HH:MM` or `HH:MM:SS` */
export function secondsOfDay(text: string): number | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?:\.0+)?$/.exec(text);
  if (match === null) return null;
  const [, hours, minutes, seconds = 0] = match;
  return (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
}

/** `08:30:00` and `08:30` are one hour. */
export function hourText(text: string): string {
  const seconds = secondsOfDay(text);
  if (seconds === null) return text;
  const pad = (value: number): string => String(value).padStart(2, '0');
  const rest = seconds % 60;
  const hour = `${pad(Math.floor(seconds / 3_600))}:${pad(Math.floor(seconds / 60) % 60)}`;
  return rest === 0 ? hour : `${hour}:${pad(rest)}`;
}
