/** Deploy calls whose outcome was lost: what is looked up, and when a robot may be deployed again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { execution, onlyJob, startAtNine } from '../fixtures/nine.ts';
import { addRobot, addSchedule, dailyAtNine } from '../simulation/tables.ts';
import { hour, minute, second } from '../simulation/world.ts';

const dropped = [
  ['an answer that was dropped', { reset: 'after' }],
  ['an answer without an id', { omitsDeploymentId: true }],
  ['an answer that is no JSON', { garbles: true }],
  ['an answer after the time-out', { answerDelayMs: 200 * second }],
] as const;
for (const [what, fault] of dropped)
  test(`LH-1, S-84, L-35: ${what} is looked up before anything else, and the robot runs once`, async () => {
    await using world = await startAtNine(
      { durationMs: 10 * minute },
      {
        room: {
          ...worldOf({ devices: 1, robots: 1, script: { durationMs: 10 * minute } }),
          faults: [{ endpoint: 'deploy', times: 1, ...fault }],
        },
      },
    );
    await world.pass(5 * minute);
    assert.equal(world.fake.calls.count('deploy'), 1);
    const row = await execution(world);
    assert.equal(row.DeploymentId, world.fake.runs[0]?.deploymentId);
    await world.pass(hour);
    assert.equal(world.fake.runs.length, 1);
    assert.equal((await execution(world)).Estado, 'COMPLETED');
  });

for (const status of [500, 502, 503, 504])
  test(`L-35, S-84, S-91: ${status} is retried only when three look-ups over 180 s have found nothing`, async () => {
    await using world = await startAtNine(
      {},
      {
        room: {
          ...worldOf({ devices: 1, robots: 1 }),
          faults: [{ endpoint: 'deploy', times: 1, status, body: 'oops' }],
        },
      },
    );
    await world.pass(3 * minute);
    assert.equal(world.fake.calls.count('deploy'), 1);
    assert.equal((await onlyJob(world)).state, 'SIN_CONFIRMAR');
    await world.pass(2 * minute);
    const [first, again] = world.fake.calls.seen('deploy');
    assert.ok((again?.at ?? 0) - (first?.at ?? 0) >= 180 * second);
    assert.equal(world.fake.runs.length, 1);
    const names = world.fake.calls
      .seen('deploy')
      .map(({ body }) => JSON.parse(body).automationName);
    assert.equal(new Set(names).size, 2);
  });

test('S-91: while look-ups fail the device stays held, whatever is due there, and that is told', async () => {
  await using world = await startAtNine(
    {},
    {
      prepare: async (db) => {
        await dailyAtNine(db);
        await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot', EsOnline: 0 });
        await addSchedule(db, { RobotId: 9_002, HoraInicio: '09:05' });
      },
      room: {
        ...worldOf({ devices: 1, robots: 2 }),
        faults: [
          { endpoint: 'deploy', times: 1, status: 500, body: 'oops' },
          { endpoint: 'activity', status: 500, body: 'oops' },
        ],
      },
    },
  );
  await world.pass(40 * minute);
  assert.equal(world.fake.calls.count('deploy'), 1);
  assert.equal((await onlyJob(world)).state, 'SIN_CONFIRMAR');
  assert.ok(world.alerts.of('deployment_unresolved').length >= 1);
});

test('L-35: a connection that is refused has sent nothing: it is tried again at once', async () => {
  await using world = await startAtNine({}, { settings: { LANZADOR_HABILITAR_SYNC: 'False' } });
  await world.pass(10 * second);
  world.fake.isDown = true;
  await world.pass(10 * second);
  world.fake.isDown = false;
  await world.pass(30 * second);
  assert.equal(world.fake.runs.length, 1);
});
