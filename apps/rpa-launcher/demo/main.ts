/**
 * `npm run demo:rpa-launcher`: a day of 50 devices and 40 robots on a fake Control Room, in simulated time:
 * schedules, online robots, devices that go away, a robot that is refused for good, runs whose state is
 * lost, callbacks, lost answers and the pause of the night. In the end everything has to add up.
 */
import { systemClock } from 'capataz/server';
import { worldOf } from '../src/fake-control-room/world.ts';
import { hour, minute, World } from '../src/simulation/world.ts';
import { estate, prepareDay, script } from './day.ts';
import { summary } from './summary.ts';

/** Midnight in Buenos Aires. */
const midnight = Date.UTC(2026, 2, 2, 3);
const begun = systemClock.steady();

await using world = await World.start({
  now: midnight,
  settings: { LANZADOR_PAUSA_INICIO_HHMM: '22:00', LANZADOR_PAUSA_FIN_HHMM: '06:00' },
  room: {
    ...worldOf(estate),
    robots: worldOf(estate).robots.map((robot, index) => ({ ...robot, script: script(index + 1) })),
    faults: [
      // A robot without a license; answers that are lost; a Control Room that is busy for a while.
      {
        endpoint: 'deploy',
        robotId: 9_040,
        status: 400,
        body: '{"message":"No license available"}',
      },
      { endpoint: 'deploy', robotId: 9_011, reset: 'after', times: 1 },
      { endpoint: 'deploy', robotId: 9_012, status: 503, body: 'busy', times: 1 },
    ],
  },
  prepare: prepareDay,
});

console.log('One day, 50 devices, 40 robots; deployments pause from 22:00 to 06:00.\n');
for (let at = 0; at < 24; at += 1) {
  // Two devices are away at seven: one comes back in time for its robot, the other too late.
  if (at === 7) for (const id of [103, 104]) world.fake.setDeviceStatus(id, 'DISCONNECTED');
  if (at === 8) world.fake.setDeviceStatus(103, 'CONNECTED');
  if (at === 11) world.fake.setDeviceStatus(104, 'CONNECTED');
  await world.pass(hour);
  const open = (await world.launcher.world.executions.open()).length;
  const hours = `${String(at).padStart(2, '0')}:00`;
  console.log(`${hours}  ${String(world.fake.runs.length).padStart(4)} runs so far, ${open} open`);
}
await world.pass(minute);

const { text, problems } = await summary(world);
console.log(text);
console.log(`\n${((systemClock.steady() - begun) / 1_000).toFixed(1)} s for a day`);
for (const problem of problems) console.error(`does not add up: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
