import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { systemRandom } from '../../packages/capataz/src/std/random.ts';
import { endedOnce } from './rpa-launcher-ended.ts';
import { RpaSite } from './rpa-launcher-site.ts';

/** The longest that a launcher lives in a round: it then is between starts, calls and records of calls. */
const longestLifeMs = 900;
const robotsARound = 4;

/**
 * Kills the launcher at random moments around deploy calls and their records. Afterwards, whatever was in
 * the air, each slot has run exactly once: no robot twice, none forgotten.
 */
export async function killAround(rounds: number): Promise<{ readonly unconfirmed: number }> {
  const robots = Math.max(20, rounds * robotsARound);
  await using site = await RpaSite.open({ robots, variables: { LANZADOR_MAX_WORKERS: '2' } });
  site.fake.faults.add({ endpoint: 'deploy', delayMs: 40, answerDelayMs: 40 });
  await site.schedule(robots);
  for (let round = 0; round < rounds; round += 1) {
    const launcher = await site.start();
    await delay(systemClock, longestLifeMs * systemRandom.next());
    await launcher.kill();
  }
  // Awaited here: the site is gone with the block.
  return await endedOnce(site, await site.start(), robots);
}
