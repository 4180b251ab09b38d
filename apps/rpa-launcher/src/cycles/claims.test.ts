/** Whose run a run is: what is found of a lost deploy call, and what is somebody else's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlRoomError } from '../control-room/contract.ts';
import { executionRecord } from '../execution/record.ts';
import { worldOf } from '../fake-control-room/world.ts';
import { onlyJob, startAtNine } from '../fixtures/nine.ts';
import { addDevice, addRobot, addSchedule, assign, dailyAtNine } from '../simulation/tables.ts';
import { hour, minute, mondayAt8, second, World } from '../simulation/world.ts';
import { LookUps } from './look-ups.ts';

test('LH-5, S-84: a lost run is found by its name though the Control Room’s clock is an hour behind', async () => {
  const script = { durationMs: 20 * minute };
  await using world = await startAtNine(script, {
    room: {
      ...worldOf({ devices: 1, robots: 1, script }),
      switches: { clockAheadMs: -hour },
      // Answers that take so long say nothing of the clock.
      faults: [
        { endpoint: 'deploy', times: 1, delayMs: 3 * second, reset: 'after' },
        { endpoint: 'login', delayMs: 3 * second },
        { endpoint: 'activity', delayMs: 3 * second },
        { endpoint: 'devices', delayMs: 3 * second },
        { endpoint: 'users', delayMs: 3 * second },
        { endpoint: 'files', delayMs: 3 * second },
      ],
    },
  });
  await world.pass(15 * minute);
  assert.equal(world.fake.runs.length, 1);
  assert.equal((await onlyJob(world)).state, 'DEPLOYED');
});

test('S-84: a run that belongs to an earlier execution is not taken for the one whose answer was lost', async () => {
  const script = { durationMs: 10 * second };
  await using world = await World.start({
    prepare: async (db) => {
      await addRobot(db, { EsOnline: 1 });
      await addDevice(db);
      await assign(db, { RobotId: 9_001, EquipoId: 101 });
    },
    room: {
      ...worldOf({ devices: 1, robots: 1, script }),
      switches: { namesRuns: true },
      faults: [{ endpoint: 'deploy', from: 2, times: 1, status: 502, body: 'bad gateway' }],
    },
  });
  await world.pass(10 * minute);
  const ids = (await world.executions()).map(({ DeploymentId }) => DeploymentId);
  assert.deepEqual(
    ids,
    world.fake.runs.map(({ deploymentId }) => deploymentId),
  );
  assert.equal(world.lines('a feed could not be applied').length, 0);
});

test('S-89: a run that says UPDATE keeps a device that was let go of as much as one that is RUNNING', async () => {
  await using world = await World.start({
    callsBack: false,
    settings: { LANZADOR_INTERVALO_CONCILIACION_SEG: '1800' },
    prepare: async (db) => {
      await dailyAtNine(db);
      await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot' });
      await addSchedule(db, { RobotId: 9_002, HoraInicio: '12:05', Tolerancia: 10 });
    },
    room: worldOf({
      devices: 1,
      robots: 2,
      script: {
        durationMs: null,
        saysUpdate: true,
        // Until shortly before the second one is due.
        unknown: { afterMs: minute, forMs: 3 * hour + 3 * minute },
      },
    }),
  });
  await world.pass(4 * hour + 16 * minute);
  assert.equal(world.fake.runs.length, 1);
});

test('S-94: a stop that the Control Room cannot take keeps nobody from being deployed', async () => {
  await using world = await startAtNine(
    { durationMs: null },
    {
      prepare: async (db) => {
        await dailyAtNine(db);
        await addDevice(db, 2);
        await addSchedule(db, { HoraInicio: '09:10' }, [102]);
      },
      room: {
        ...worldOf({ devices: 2, robots: 1, script: { durationMs: null } }),
        faults: [{ endpoint: 'manage', status: 500, body: 'oops' }],
      },
    },
  );
  await world.pass(5 * minute);
  const { id: jobId } = await onlyJob(world);
  await world.launcher.world.executions.tell([{ jobId, name: 'parar', data: { by: 'ana' } }]);
  await world.pass(10 * minute);
  assert.equal(world.fake.runs.length, 2);
});

test('LH-2: while look-ups are not answered robots are deployed elsewhere', async () => {
  const devices = 12;
  await using world = await startAtNine(
    {},
    {
      settings: { LANZADOR_HABILITAR_SYNC: 'False' },
      prepare: async (db) => {
        await addRobot(db);
        for (let n = 1; n <= devices; n += 1) await addDevice(db, n);
        const ids = [...new Array(devices).keys()].map((n) => 101 + n);
        await addSchedule(db, {}, ids.slice(1));
        await addSchedule(db, { HoraInicio: '09:10', Tolerancia: 10 }, ids.slice(0, 1));
      },
      room: {
        ...worldOf({ devices, robots: 1 }),
        faults: [
          { endpoint: 'deploy', times: devices - 1, status: 502, body: 'bad gateway' },
          { endpoint: 'activity', delayMs: hour },
        ],
      },
    },
  );
  await world.pass(20 * minute);
  assert.equal(world.fake.runs.length, 1);
});

test('S-90: a deploy call that could not leave in time does not leave any more, and another one does', async () => {
  await using world = await startAtNine(
    {},
    {
      room: {
        ...worldOf({ devices: 1, robots: 1 }),
        switches: { tokenLifeMs: 4 * second },
        faults: [{ endpoint: 'login', from: 2, times: 2, delayMs: 50 * second }],
      },
    },
  );
  await world.pass(10 * minute);
  const calls = world.fake.calls.seen('deploy').map(({ body }) => JSON.parse(body).automationName);
  assert.equal(calls.length, 1);
  assert.match(calls[0], /-[23]$/);
  assert.equal(world.fake.runs.length, 1);
});

test('B-070: a deploy call that waits for its login does not leave in the pause', async () => {
  await using world = await World.start({
    now: mondayAt8 + hour - 30 * second,
    callsBack: false,
    settings: { LANZADOR_PAUSA_INICIO_HHMM: '09:00', LANZADOR_PAUSA_FIN_HHMM: '09:30' },
    prepare: async (db) => {
      await addRobot(db);
      await addDevice(db);
      await addSchedule(db, { HoraInicio: '08:59:40' });
    },
    room: {
      ...worldOf({ devices: 1, robots: 1 }),
      switches: { tokenLifeMs: 4 * second },
      faults: [{ endpoint: 'login', from: 2, delayMs: 20 * second }],
    },
  });
  await world.pass(20 * minute);
  assert.equal(world.fake.calls.count('deploy'), 0);
  await world.pass(20 * minute);
  assert.equal(world.fake.runs.length, 1);
});

test('LH-2: a look-up that is never answered keeps none of the others from its own', async () => {
  await using world = await World.start();
  const asked: number[] = [];
  const lookUps = new LookUps({
    ...world.launcher.world,
    controlRoom: {
      ...world.launcher.world.controlRoom,
      activities: async ({ robotId = 0 }) => {
        asked.push(robotId);
        if (robotId < 9_003) throw new ControlRoomError('unreachable', 'no answer');
        return [];
      },
    },
  });
  const open = [9_001, 9_002, 9_003].map((robotId) => ({
    ...{ id: `job-${robotId}`, state: 'SIN_CONFIRMAR', isQuarantined: false, enteredAt: 0 },
    record: executionRecord.parse({ attempt: 1, orderedAt: mondayAt8 }),
    input: {
      ...{ origin: 'manual' as const, robotId, robot: 'R', deviceId: 1, device: 'pc' },
      ...{ scheduleId: null, date: null, hour: null, startsAt: 0, endsAt: 0 },
      ...{ botInput: null, by: null },
    },
  }));
  for (let cycle = 0; cycle < 3; cycle += 1) {
    await lookUps.resolve(open);
    await world.clock.advance(second);
  }
  assert.deepEqual(asked.slice(0, 3), [9_001, 9_002, 9_003]);
});
