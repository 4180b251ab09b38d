import { databaseNow } from '../tables/database.ts';
import type { LauncherWorld } from './world.ts';

const tolerableMs = 5_000;

/** Clocks that go apart make schedules and ages wrong: it is told, and our own clock decides (LH-5). */
export async function watchClocks(world: LauncherWorld): Promise<void> {
  const { controlRoom, alerts, clock, db, databaseKind } = world;
  const skews: [string, number][] = [['Control Room', controlRoom.clockSkewMs() ?? 0]];
  const theirs = await databaseNow(db, databaseKind);
  if (theirs !== null) skews.push(['database', theirs - clock.now()]);
  const [worst] = skews.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  if (worst === undefined || Math.abs(worst[1]) <= tolerableMs)
    return alerts.clear('clock_skew', 'clock');
  const [whose, skewMs] = worst;
  const message = `the clock of the ${whose} is ${Math.round(skewMs / 1_000)} s away from ours`;
  world.log.warn(message);
  await alerts.raise({ kind: 'clock_skew', key: 'clock', message });
}
