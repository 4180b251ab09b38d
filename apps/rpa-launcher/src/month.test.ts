import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDevice, addRobot, addSchedule } from './fixtures/tables.ts';
import { day, minute, World } from './fixtures/world.ts';

const devices = 12;
const daily = 10;

test('a month of schedules in cycles of 300 s: each slot runs once, within two minutes', {
  timeout: 240_000,
}, async () => {
  const begun = performance.now();
  await using world = await World.start({
    settings: { LANZADOR_INTERVALO_LANZAMIENTO_SEG: '300' },
    room: worldFor(),
    prepare: async (db) => {
      for (let n = 1; n <= devices; n += 1) await addDevice(db, n);
      for (let n = 1; n <= daily; n += 1) {
        await addRobot(db, { RobotId: 9_000 + n, Robot: `P00${n}_Robot` });
        const HoraInicio = `${String(8 + n).padStart(2, '0')}:10`;
        await addSchedule(db, { RobotId: 9_000 + n, HoraInicio }, [100 + n, 101 + n]);
      }
    },
  });
  await world.pass(30 * day);
  assert.equal(world.fake.runs.length, 30 * daily * 2);
  console.log(performance.now() - begun, 'ms');
  assert.ok(performance.now() - begun < 120_000);
});
function worldFor() { return worldOf({ devices, robots: daily, script: { durationMs: 20 * minute } }); }
import { worldOf } from './fake-control-room/world.ts';
