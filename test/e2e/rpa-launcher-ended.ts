import assert from 'node:assert/strict';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import type { RpaLauncher } from './rpa-launcher-process.ts';
import type { RpaSite } from './rpa-launcher-site.ts';

/**
 * Moves the launcher's time until everything has ended: intents whose launcher died, then look-ups where nothing
 * was deployed, then the deployments. Whatever was in the air, each slot of so many robots has run exactly once.
 */
export async function endedOnce(
  site: RpaSite,
  launcher: RpaLauncher,
  robots: number,
): Promise<{ readonly unconfirmed: number }> {
  // Past the longest that an intent may last.
  await launcher.advance(45_000);
  await until(async () => (await launcher.jobs()).every(({ state }) => state !== 'DESPLEGANDO'));
  const unconfirmed = (await launcher.jobs()).filter(({ state }) => state === 'SIN_CONFIRMAR');
  const isOver = async (): Promise<boolean> => {
    const jobs = await launcher.jobs();
    return jobs.length === robots && jobs.every(({ ended_at }) => ended_at !== null);
  };
  for (let step = 0; step < 60 && !(await isOver()); step += 1) {
    await launcher.advance(95_000);
    const cycles = site.fake.calls.count('activity') + 1;
    // Where nothing runs any more nobody is asked.
    const endsAt = systemClock.steady() + 2_500;
    await until(() => site.fake.calls.count('activity') > cycles || systemClock.steady() > endsAt);
  }
  const jobs = await launcher.jobs();
  assert.equal(jobs.length, robots);
  assert.deepEqual([...new Set(jobs.map(({ state }) => state))], ['COMPLETED']);
  const runs = Map.groupBy(site.fake.runs, ({ robotId }) => robotId);
  const counts = [...runs.values()].map((list) => list.length);
  assert.deepEqual([counts.length, Math.max(...counts)], [robots, 1]);
  return { unconfirmed: unconfirmed.length };
}
