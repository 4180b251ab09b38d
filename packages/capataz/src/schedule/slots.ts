import { type Rule, timingOf } from './rule.ts';
import type { CalendarTiming, IntervalTiming } from './timing.ts';
import { dayMs, dayOf, minuteMs } from './wall-time.ts';
import { type Segment, type Zone, zoneOf } from './zone.ts';

/** The instants at which a rule comes round, in ms since 1970 UTC, ascending and each once. */
export interface Slots {
  /** The first slot behind an instant; null: none within 41 years. */
  next(after: number): number | null;
  /** The last slot in front of an instant; null: none within 41 years. */
  previous(before: number): number | null;
  /** Those behind `after` up to `until`, which is one of them if it is a slot. */
  between(after: number, until: number): Generator<number>;
}

/** The longest there is between two dates of a rule: a 29 February on a Monday around 2100. */
export const horizonMs = 41 * 366 * dayMs;

/**
 * Changes of the clocks: a time that they leave out is taken at the first instant behind the gap, one
 * that they bring twice counts the first time only. A cron expression with `*` for its hour has slots
 * by the hands of the clock instead: none in the gap, and both times in what comes twice.
 * @throws RuleError for a rule that can't be, RangeError for a zone that is none.
 */
export function slots(rule: Rule, zone: string): Slots {
  const timing = timingOf(rule);
  const found =
    timing.type === 'interval' ? intervalSlots(timing) : calendarSlots(timing, zoneOf(zone));
  return {
    ...found,
    *between(after, until) {
      let slot = found.next(after);
      while (slot !== null && slot <= until) {
        yield slot;
        slot = found.next(slot);
      }
    },
  };
}

type Found = Pick<Slots, 'next' | 'previous'>;

function intervalSlots({ everyMs, anchor }: IntervalTiming): Found {
  return {
    next: (after) => anchor + Math.max(0, Math.floor((after - anchor) / everyMs) + 1) * everyMs,
    previous: (before) => {
      const count = Math.ceil((before - anchor) / everyMs) - 1;
      return count < 0 ? null : anchor + count * everyMs;
    },
  };
}

/** Segment by segment: within one, wall time and instant differ by a constant. */
function calendarSlots(timing: CalendarTiming, zone: Zone): Found {
  const firstWall = ({ start, offset, before }: Segment): number =>
    start + (timing.followsClock ? offset : before);
  // A wall time in the gap before a segment belongs to the segment's first instant.
  const slotOf = (wall: number, { start, offset }: Segment): number =>
    Math.max(start, wall - offset);
  return {
    next: (after) => {
      let segment = zone.segmentAt(after);
      while (segment.start <= after + horizonMs) {
        const { start, end, offset } = segment;
        const first = firstWall(segment);
        const behind = after < start ? first - 1 : Math.max(after + offset, first - 1);
        const wall = nextWall(timing, behind, end + offset);
        if (wall !== null) return slotOf(wall, segment);
        segment = zone.segmentAt(end);
      }
      return null;
    },
    previous: (before) => {
      let segment = zone.segmentAt(before - 1);
      while (segment.end >= before - horizonMs) {
        const { start, end, offset } = segment;
        const wall = previousWall(timing, Math.min(before, end) + offset, firstWall(segment));
        if (wall !== null) return slotOf(wall, segment);
        segment = zone.segmentAt(start - 1);
      }
      return null;
    },
  };
}

/** @returns the first wall time behind `after` and in front of `end`. */
function nextWall({ isOn, minutes }: CalendarTiming, after: number, end: number): number | null {
  for (let day = dayOf(after); day * dayMs < end; day += 1) {
    const midnight = day * dayMs;
    const minute = minutes.find((one) => midnight + one * minuteMs > after);
    if (minute === undefined || !isOn(day)) continue;
    const wall = midnight + minute * minuteMs;
    return wall < end ? wall : null;
  }
  return null;
}

/** @returns the last wall time in front of `before` and not in front of `start`. */
function previousWall(
  { isOn, minutes }: CalendarTiming,
  before: number,
  start: number,
): number | null {
  for (let day = dayOf(before); (day + 1) * dayMs > start; day -= 1) {
    const midnight = day * dayMs;
    const minute = minutes.findLast((one) => midnight + one * minuteMs < before);
    if (minute === undefined || !isOn(day)) continue;
    const wall = midnight + minute * minuteMs;
    return wall >= start ? wall : null;
  }
  return null;
}
