/** What operators type: what is shown of what there is, and what is said of words that mean nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { justBeforeNine } from '../fixtures/nine.ts';
import { type Typed, typedIn } from '../fixtures/typed.ts';
import { addDevice, addRobot, addSchedule, assign, dailyAtNine } from '../simulation/tables.ts';
import { minute, second, World } from '../simulation/world.ts';
import { addFailure } from '../tables/failures.ts';

test('wrong words are told with the option they were given for, and never as a bug', async () => {
  await using world = await World.start({ databaseUrl: 'file', prepare: dailyAtNine });
  const refused = async (words: Typed, message: RegExp): Promise<void> => {
    await assert.rejects(typedIn(world, words), { name: /UsageError|CapatazError/, message });
  };
  await refused({ name: 'executions', options: { limit: 'x' } }, /--limit: must be a whole number/);
  await refused({ name: 'executions', options: { limit: '0' } }, /--limit: must be at least 1/);
  await refused({ name: 'executions', options: { state: 'FOO' } }, /--state: "FOO" is none of /);
  await refused(
    { name: 'executions', options: { state: 'omitida' } },
    /--state: OMITIDA .* jobs list --state OMITIDA/,
  );
  await refused({ name: 'robots', options: { active: 'off' } }, /robots: name the robot/);
  await refused({ name: 'devices', options: { active: 'off' } }, /devices: name the device/);
  await refused({ name: 'assign', options: { reserved: true } }, /assign: name the robot/);
  await refused(
    { name: 'robots', words: ['9001'], options: { active: 'maybe' } },
    /--active: must be on or off/,
  );
  await refused(
    { name: 'robots', words: ['9001'], options: { params: '{"a":{"type":"FOO"}}' } },
    /--params: .*a\.type: .*STRING/,
  );
  await refused({ name: 'diagnose', words: ['RPA-PC-009'] }, /there is no device RPA-PC-009/);
  await refused({ name: 'executables', words: ['RPA-PC-009'] }, /there is no device RPA-PC-009/);
  await refused({ name: 'schedule', words: ['import', 'none.csv'] }, /none\.csv: .*no such file/);
  const add = (options: Typed['options']): Typed => ({
    name: 'schedule',
    words: ['add'],
    options: { robot: '9001', devices: 'RPA-PC-001', at: '20:00', ...options },
  });
  await refused(add({ tolerance: 'x' }), /--tolerance: must be a whole number/);
  await refused(add({ days: 'Lu', date: '2026-03-31' }), /--days and --date do not go together/);
  await refused(add({ toDay: '5' }), /DiaInicioMes: needs DiaFinMes/);
  await refused(add({ interval: '5' }), /IntervaloEntreEjecuciones: only a cyclic schedule/);
  assert.equal((await world.db.selectFrom('Programaciones').selectAll().execute()).length, 1);
});

test('S-94: executables tell of every assignment: what runs, what has run, and when it comes again', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    databaseUrl: 'file',
    room: worldOf({ devices: 3, robots: 3, script: { durationMs: 2 * minute } }),
    prepare: async (db) => {
      await dailyAtNine(db);
      await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot', EsOnline: 1 });
      await addDevice(db, 2);
      await assign(db, { RobotId: 9_002, EquipoId: 102 });
      await addRobot(db, { RobotId: 9_003, Robot: 'P003_Robot' });
      await addDevice(db, 3);
      const cyclic = { EsCiclico: 1, HoraFin: '12:00', IntervaloEntreEjecuciones: 30 };
      await addSchedule(db, { RobotId: 9_003, HoraInicio: '09:00', ...cyclic }, [103]);
    },
  });
  await world.pass(minute);
  const running = await typedIn(world, { name: 'executables' });
  for (const robot of ['P001', 'P002', 'P003'])
    assert.match(running, new RegExp(`${robot}_Robot .* no +it is DEPLOYED \\(`));
  await world.pass(4 * minute);
  const ended = await typedIn(world, { name: 'executables' });
  assert.match(ended, /P001_Robot .*09:00 +no +its run of 09:00 is over: RUN_COMPLETED \(/);
  assert.match(ended, /P003_Robot .* no +again at 2026-03-02 09:3\d:\d\d/);
});

test('a list of schedules has their devices and hours as they are written, on any database', async () => {
  await using world = await World.start({
    databaseUrl: 'file',
    prepare: async (db) => {
      await dailyAtNine(db);
      await addDevice(db, 2);
      const cyclic = { EsCiclico: 1, HoraFin: '23:00:00', IntervaloEntreEjecuciones: 15 };
      await addSchedule(db, { HoraInicio: '21:00:00', ...cyclic }, [101, 102]);
    },
  });
  const list = await typedIn(world, { name: 'schedule', words: ['list'] });
  assert.match(list, /P001_Robot +RPA-PC-001,RPA-PC-002 +Diaria +21:00 .*hasta 23:00, 15 min /);
});

test('a schedule that is made says what it is, and that its robot is online no more', async () => {
  await using world = await World.start({
    databaseUrl: 'file',
    prepare: async (db) => {
      await addRobot(db, { EsOnline: 1 });
      await addDevice(db);
    },
  });
  const options = { robot: 'P001_Robot', devices: 'rpa-pc-001', at: '20:00' };
  const made = await typedIn(world, { name: 'schedule', words: ['add'], options });
  assert.match(made, /schedule 1: P001_Robot on rpa-pc-001/);
  assert.match(made, /P001_Robot is not online any more/);
});

test('stop of a device where nothing runs yet names what waits there', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    databaseUrl: 'file',
    prepare: async (db) => {
      await dailyAtNine(db);
      await db.updateTable('Equipos').set({ Activo_SAM: 0 }).execute();
    },
  });
  await world.pass(30 * second);
  const [job] = await world.jobs();
  await assert.rejects(
    typedIn(world, { name: 'stop', words: ['RPA-PC-001'] }),
    new RegExp(`nothing runs on RPA-PC-001.*${job?.id}`),
  );
});

test('LH-18, LH-7: what an operator orders after a mend is tried at once, not when the back-off is over', async () => {
  const refused = {
    endpoint: 'deploy',
    robotId: 9_001,
    status: 400,
    body: '{"message":"bad"}',
  } as const;
  await using world = await World.start({
    databaseUrl: 'file',
    room: { ...worldOf({ devices: 1, robots: 1 }), faults: [{ ...refused, times: 1 }] },
    prepare: async (db) => {
      await addRobot(db, { EsOnline: 1 });
      await addDevice(db);
      await assign(db, { RobotId: 9_001, EquipoId: 101 });
    },
  });
  await world.pass(second);
  assert.equal(world.fake.runs.length, 0);
  await typedIn(world, { name: 'restore-assignment', words: ['1'] });
  await world.pass(20 * second);
  assert.equal(world.fake.runs.length, 1);

  await typedIn(world, { name: 'robots', words: ['9001'], options: { online: 'off' } });
  await world.pass(2 * minute);
  await addFailure(
    world.db,
    { robotId: 9_001, device: 'RPA-PC-001' },
    { now: world.clock.now(), reason: 'bad', atLeastMs: 30 * minute },
  );
  const before = world.fake.runs.length;
  await typedIn(world, { name: 'run-now', words: ['9001', 'RPA-PC-001'] });
  await world.pass(20 * second);
  assert.equal(world.fake.runs.length, before + 1);
});

test('LH-7: an assignment whose schedule is gone is not put back: nothing would ever run it', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    databaseUrl: 'file',
    room: {
      ...worldOf({ devices: 1, robots: 1 }),
      faults: [{ endpoint: 'deploy', status: 400, body: '{"message":"bad"}' }],
    },
    prepare: dailyAtNine,
  });
  await world.pass(minute);
  const removed = await world.db.selectFrom('AsignacionesRetiradas').selectAll().execute();
  assert.equal(removed.length, 1);
  await typedIn(world, { name: 'schedule', words: ['remove', '1'] });
  await assert.rejects(
    typedIn(world, { name: 'restore-assignment', words: ['1'] }),
    /schedule 1 is gone/,
  );
});
