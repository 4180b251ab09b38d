import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dailyAtNine } from './fixtures/tables.ts';
import { hour, minute, second, World } from './fixtures/world.ts';

test('L-64: a daily schedule is deployed at its hour, and the reconciler follows it to its end', async () => {
  await using world = await World.start({ prepare: dailyAtNine, callsBack: false });
  await world.pass(hour - second);
  assert.equal(world.fake.runs.length, 0);
  await world.pass(16 * second);
  const [deployed] = await world.executions();
  assert.partialDeepStrictEqual(deployed, {
    DeploymentId: world.fake.runs[0]?.deploymentId,
    RobotId: 9_001,
    EquipoId: 101,
    UserId: 5_001,
    Hora: '09:00',
    FechaTeorica: '2026-03-02',
    Estado: 'DEPLOYED',
    FechaFin: null,
  });
  await world.pass(15 * minute);
  const [ended] = await world.executions();
  assert.equal(ended?.Estado, 'COMPLETED');
  assert.match(ended?.FechaFin ?? '', /^2026-03-02 09:01:/);
  await world.pass(hour);
  assert.equal(world.fake.runs.length, 1);
});
