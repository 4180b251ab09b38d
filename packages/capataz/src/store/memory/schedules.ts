import type { ScheduleChange, ScheduleOutcome, StoredSchedule } from '../contract.ts';
import { copyOf, type MemoryData } from './data.ts';

export function schedulesOf(data: MemoryData, names?: readonly string[]): StoredSchedule[] {
  const found = [...data.schedules.values()].filter(
    ({ name }) => names === undefined || names.includes(name),
  );
  return copyOf(found.sort((a, b) => (a.name < b.name ? -1 : 1)));
}

export function keepSchedule(
  data: MemoryData,
  name: string,
  change: ScheduleChange,
  at: number,
): ScheduleOutcome {
  const { expected, handled, recent, pause } = change;
  const before = data.schedules.get(name) ?? null;
  if ((before?.handled ?? null) !== expected) {
    return { type: 'stale', schedule: copyOf(before) };
  }
  const known = before ?? unknown(name, handled ?? at);
  const wanted = handled ?? known.handled;
  const schedule = {
    ...known,
    ...pausing(known, pause, at),
    handled: pause?.isPaused === false ? wanted : Math.max(known.handled, wanted),
    recent: recent ?? known.recent,
  };
  data.schedules.set(name, copyOf(schedule));
  return { type: 'done', schedule: copyOf(schedule) };
}

function unknown(name: string, handled: number): StoredSchedule {
  const never = { pausedAt: null, resumedAt: null, changedBy: null };
  return { name, handled, ...never, recent: [] };
}

function pausing(
  { pausedAt }: StoredSchedule,
  pause: ScheduleChange['pause'],
  at: number,
): Partial<StoredSchedule> {
  if (pause === undefined || pause.isPaused === (pausedAt !== null)) return {};
  const changedBy = pause.by;
  return pause.isPaused
    ? { pausedAt: at, changedBy }
    : { pausedAt: null, resumedAt: at, changedBy };
}
