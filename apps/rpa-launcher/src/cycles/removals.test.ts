/** Assignments that a permanent 400 speaks against. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { justBeforeNine } from '../fixtures/nine.ts';
import { addDevice, addRobot, addSchedule } from '../simulation/tables.ts';
import { day, minute, World } from '../simulation/world.ts';

test('LH-7: 400 to everybody, one after the other, takes no more assignments away than at once, until something is deployed', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    room: {
      ...worldOf({ devices: 6, robots: 6 }),
      faults: [{ endpoint: 'deploy', status: 400, body: 'Variable not found' }],
    },
    prepare: async (db) => {
      for (let n = 1; n <= 6; n += 1) {
        await addRobot(db, { RobotId: 9_000 + n, Robot: `P00${n}_Robot` });
        await addDevice(db, n);
        const HoraInicio = `09:${String(n).padStart(2, '0')}`;
        await addSchedule(db, { RobotId: 9_000 + n, HoraInicio }, [100 + n]);
      }
    },
  });
  const left = async () => (await world.db.selectFrom('Asignaciones').selectAll().execute()).length;
  await world.pass(10 * minute);
  assert.equal(await left(), 3);
  assert.ok(world.alerts.of('deletions_stopped').length > 0);
  world.fake.faults.clear();
  await world.pass(day);
  assert.equal(world.fake.runs.length, 3);
});
