import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from './fake-control-room/world.ts';
import { addDevice, addRobot, addSchedule } from './simulation/tables.ts';
import { day, minute, second, World } from './simulation/world.ts';

const robots = 10;
const days = 30;

test('LH-9, L-20: in a month of cycles of 300 s each slot of ten daily schedules on two devices runs once', {
  timeout: 300_000,
}, async () => {
  const begun = process.cpuUsage();
  await using world = await World.start({
    settings: { LANZADOR_INTERVALO_LANZAMIENTO_SEG: '300' },
    // What the engine looks after by itself would ring most of the alarms of a month.
    config: { handlerLease: 3_600_000, checkEvery: 3_600_000, timeoutMonitor: false },
    room: worldOf({ devices: robots + 1, robots, script: { durationMs: 20 * minute } }),
    prepare: async (db) => {
      for (let n = 1; n <= robots + 1; n += 1) await addDevice(db, n);
      for (let n = 1; n <= robots; n += 1) {
        await addRobot(db, { RobotId: 9_000 + n, Robot: `P0${n}_Robot` });
        const HoraInicio = `${String(8 + n).padStart(2, '0')}:10`;
        await addSchedule(db, { RobotId: 9_000 + n, HoraInicio }, [100 + n, 101 + n]);
      }
    },
  });
  await world.stride(days * day, 10 * second);
  const slots = world.fake.runs.map(({ robotId, deviceId, acceptedAt }) =>
    [robotId, deviceId, Math.floor(acceptedAt / day)].join('/'),
  );
  assert.deepEqual([slots.length, new Set(slots).size], [days * robots * 2, days * robots * 2]);
  // Time of the processor: how long it takes on the clock depends on what else this machine does.
  const { user, system } = process.cpuUsage(begun);
  const seconds = (user + system) / 1e6;
  assert.ok(seconds < 120, `${seconds} s for a month`);
});
