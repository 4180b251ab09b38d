/** What the Control Room says and no table takes: it costs its own row at most. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { startAtNine } from '../fixtures/nine.ts';
import { addDevice, addRobot, addSchedule } from '../simulation/tables.ts';
import { minute } from '../simulation/world.ts';

test('L-28, LH-26: a deployment id that is given twice keeps no other execution out of the tables, and is told', async () => {
  await using world = await startAtNine(
    {},
    {
      settings: { LANZADOR_HABILITAR_SYNC: 'False' },
      prepare: async (db) => {
        await addRobot(db);
        for (const n of [1, 2, 3]) await addDevice(db, n);
        await addSchedule(db, {}, [101, 102, 103]);
      },
      room: {
        ...worldOf({ devices: 3, robots: 1 }),
        faults: [
          { endpoint: 'deploy', times: 2, status: 200, body: '{"deploymentId":"the same"}' },
        ],
      },
    },
  );
  await world.pass(minute);
  const ids = (await world.executions()).map(({ DeploymentId }) => DeploymentId);
  assert.deepEqual(ids.sort(), [world.fake.runs[0]?.deploymentId, 'the same']);
  assert.ok(world.lines('cannot be shown in Ejecuciones').length > 0);
});
