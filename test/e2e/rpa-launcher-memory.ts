/**
 * `npm run memory:rpa-launcher [-- hours]`: what a launcher of 500 devices costs, as JSON lines. First a minute
 * of the wall clock in which nothing is due. Then so many simulated hours, by default 24, with robots on all
 * devices; they pass as fast as they can, in which garbage lies longer than in hours of an hour. Last, a
 * minute of the wall clock in which all that is left to do is what a launcher always does.
 */
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { devices, LargeSite, usageOf } from './rpa-launcher-day.ts';

const hours = Number(process.argv[2] ?? 24);
const say = (line: object): void => console.log(JSON.stringify(line));

{
  await using site = await LargeSite.open({ isBusy: false });
  const before = usageOf(site.launcher);
  await delay(systemClock, 60_000);
  const { cpu_seconds, ...usage } = usageOf(site.launcher);
  say({ ...{ idle_minutes: 1, devices }, ...usage, cpu_seconds: cpu_seconds - before.cpu_seconds });
}

await using site = await LargeSite.open({ isBusy: true });
say({ hours: 0, runs: 0, cycles: site.launcher.deployCycles, ...usageOf(site.launcher) });
for (let passed = 1; passed <= hours; passed += 1) {
  await site.pass(3_600_000);
  const { runs, launcher } = site;
  say({ hours: passed, runs, cycles: launcher.deployCycles, ...usageOf(launcher) });
}
await delay(systemClock, 60_000);
say({ at_rest_minutes: 1, ...usageOf(site.launcher) });
