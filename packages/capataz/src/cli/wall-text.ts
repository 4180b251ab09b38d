import { dayOf, weekdayOf } from '../schedule/wall-time.ts';
import type { Zone } from '../schedule/zone.ts';
import { UsageError } from './exit.ts';

/** `Sun 2026-03-29 03:00:00 +02:00`, or its date alone. */
export function localTime(zone: Zone, instant: number, form: 'full' | 'date' = 'full'): string {
  const offset = zone.offsetAt(instant);
  const wall = instant + offset;
  const [date = '', time = ''] = new Date(wall).toISOString().slice(0, 19).split('T');
  return form === 'date' ? date : `${dayName(wall)} ${date} ${time} ${offsetText(offset)}`;
}

/** `HH:MM` as the wall shows it. */
export function clockTime(wall: number): string {
  return new Date(wall).toISOString().slice(11, 16);
}

/**
 * An instant in ISO 8601; without an offset it is what the wall of the zone shows.
 * @throws UsageError with the flag's name
 */
export function instantIn(zone: Zone, flag: string, text: string): number {
  const isWall = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?$/.test(text);
  const isInstant = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const time = text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T');
  const ms = Date.parse(isWall ? `${time}Z` : text);
  if ((isWall || isInstant) && !Number.isNaN(ms)) return isWall ? zone.instantOf(ms) : ms;
  throw new UsageError(
    `${flag} must be like 2026-03-29, 2026-03-29T02:30 or 2026-03-29T02:30:00Z, not "${text}"`,
  );
}

function dayName(wall: number): string {
  const name = weekdayOf(dayOf(wall));
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function offsetText(offset: number): string {
  const minutes = Math.abs(offset) / 60_000;
  const two = (count: number): string => String(Math.floor(count)).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}
