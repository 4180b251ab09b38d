import type { RobotScript } from '../src/fake-control-room/world.ts';
import { addDevice, addRobot, addSchedule, assign } from '../src/simulation/tables.ts';
import { minute } from '../src/simulation/world.ts';
import type { Db } from '../src/tables/database.ts';

export const estate = { devices: 50, robots: 40 };
/** Robots 1 to 10 run whenever their device is free; 11 to 40 have schedules. */
const online = 10;

/** What each robot does: most end well, some fail, one is lost sight of, one is slow. */
export function script(robot: number): RobotScript {
  const usual = { durationMs: [8 * minute, 25 * minute] } as const;
  if (robot <= online) return { durationMs: [14 * minute, 24 * minute] };
  if (robot === 13) return { ...usual, end: 'RUN_FAILED' };
  if (robot === 16)
    return { durationMs: 50 * minute, unknown: { afterMs: 2 * minute, forMs: 35 * minute } };
  if (robot === 15) return { durationMs: 70 * minute };
  return usual;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Thirty robots twice a day on a device each, one of them within the pause. */
export async function prepareDay(db: Db): Promise<void> {
  for (let n = 1; n <= estate.devices; n += 1) await addDevice(db, n);
  for (let n = 1; n <= estate.robots; n += 1) {
    const RobotId = 9_000 + n;
    const isOnline = n <= online;
    await addRobot(db, {
      RobotId,
      Robot: `P${String(n).padStart(3, '0')}_Robot`,
      EsOnline: isOnline ? 1 : 0,
    });
    if (isOnline) {
      await assign(db, { RobotId, EquipoId: 140 + n });
      continue;
    }
    const devices = [90 + n];
    await addSchedule(
      db,
      { RobotId, HoraInicio: `${two(6 + (n % 12))}:${two((n * 7) % 60)}` },
      devices,
    );
    await addSchedule(db, { RobotId, HoraInicio: `${two(19 + (n % 4))}:30` }, devices);
  }
}
