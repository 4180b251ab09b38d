import type { BlackoutCalendar } from '../engine/blackout-gate.ts';
import { type Blackout, blackout } from '../schedule/blackout.ts';
import type { Blackouts } from '../schedule/schedule.ts';

/** The bounds of blackouts are whole seconds. */
const secondMs = 1_000;

/** The blackouts of `schedules.toml` for those who ask at every hand-out. */
export function blackoutCalendar(definitions: Blackouts): BlackoutCalendar {
  const known = new Map(
    Object.entries(definitions).map(([name, definition]) => [
      name,
      oncePerSecond(blackout(name, definition)),
    ]),
  );
  return {
    has: (name) => known.has(name),
    endAt: (name, instant) => known.get(name)?.(instant) ?? null,
  };
}

/** To find a window costs two slots, and a busy server asks thousands of times a second. */
function oncePerSecond(window: Blackout): (instant: number) => number | null {
  let second = Number.NaN;
  let endAt: number | null = null;
  return (instant) => {
    const now = Math.floor(instant / secondMs);
    if (now !== second) {
      second = now;
      endAt = window.at(instant)?.end ?? null;
    }
    return endAt;
  };
}
