/** Robots and devices of the Control Room in the tables. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { worldOf } from '../fake-control-room/world.ts';
import { addDevice, addRobot, addSchedule, dailyAtNine } from '../simulation/tables.ts';
import { hour, minute, second, World } from '../simulation/world.ts';

const none = async (): Promise<void> => {};
const devicesOf = (world: World) =>
  world.db.selectFrom('Equipos').selectAll().orderBy('EquipoId').execute();
const hourly = { LANZADOR_INTERVALO_LANZAMIENTO_SEG: '600' };

test('L-7: new robots and devices have the defaults of SAM', async () => {
  await using world = await World.start({ prepare: none });
  await world.pass(second);
  const [robot] = await world.db.selectFrom('Robots').selectAll().execute();
  assert.partialDeepStrictEqual(robot, {
    ...{ RobotId: 9_001, Robot: 'P001_Robot', Activo: 1, EsOnline: 0, MinEquipos: 1 },
    ...{ MaxEquipos: -1, PrioridadBalanceo: 100, TicketsPorEquipoAdicional: 10, PoolId: null },
  });
  const [device] = await devicesOf(world);
  assert.partialDeepStrictEqual(device, {
    ...{ EquipoId: 101, Equipo: 'RPA-PC-001', UserId: 5_001, UserName: 'runner1' },
    ...{ Licencia: 'RUNTIME', Activo_SAM: 1, PermiteBalanceoDinamico: 1, PoolId: null },
  });
});

test('L-8, LH-16: what the Control Room knows is updated; pool, balancing and the operator’s switch are ours', async () => {
  await using world = await World.start({
    prepare: async (db) => {
      const { PoolId } = await db
        .insertInto('Pools')
        .values({ Nombre: 'p', Descripcion: null, FechaCreacion: null, FechaModificacion: null })
        .returning('PoolId')
        .executeTakeFirstOrThrow();
      const ours = { PoolId, PermiteBalanceoDinamico: 0, EstadoBalanceador: 'x', Activo_SAM: 0 };
      await addDevice(db, 1, { Licencia: 'OLD', UserName: 'old', ...ours });
      await addRobot(db, { Robot: 'P001_Old', Activo: 0, PrioridadBalanceo: 3 });
    },
  });
  await world.pass(second);
  const [device] = await devicesOf(world);
  assert.partialDeepStrictEqual(device, {
    ...{ Licencia: 'RUNTIME', UserName: 'runner1' },
    ...{ PoolId: 1, PermiteBalanceoDinamico: 0, EstadoBalanceador: 'x', Activo_SAM: 0 },
  });
  const [robot] = await world.db.selectFrom('Robots').selectAll().execute();
  assert.partialDeepStrictEqual(robot, { Robot: 'P001_Robot', Activo: 0, PrioridadBalanceo: 3 });
});

test('L-9, L-10: a host under a new id takes settings, assignments and executions along, and the old row is gone', async () => {
  await using world = await World.start({
    prepare: async (db) => {
      await addRobot(db);
      await addDevice(db, 1, { EquipoId: 77, Activo_SAM: 0, PermiteBalanceoDinamico: 0 });
      await addSchedule(db, {}, [77]);
      await db.insertInto('Ejecuciones').values(execution(77)).execute();
      await db
        .insertInto('Ejecuciones_Historico')
        .values({ ...execution(77), EjecucionId: 5 })
        .execute();
    },
  });
  await world.pass(second);
  const rows = await devicesOf(world);
  assert.deepEqual(
    rows.map(({ EquipoId }) => EquipoId),
    [101, 102, 103],
  );
  assert.partialDeepStrictEqual(rows[0], { Activo_SAM: 0, PermiteBalanceoDinamico: 0 });
  for (const table of ['Asignaciones', 'Ejecuciones', 'Ejecuciones_Historico'] as const) {
    const [row] = await world.db.selectFrom(table).select('EquipoId').execute();
    assert.equal(row?.EquipoId, 101, table);
  }
});

test('LH-16: two hosts that swap their ids swap them, and nothing is lost', async () => {
  await using world = await World.start({
    prepare: async (db) => {
      await addRobot(db);
      await addDevice(db, 1, { EquipoId: 102, EstadoBalanceador: 'one' });
      await addDevice(db, 2, { EquipoId: 101, EstadoBalanceador: 'two' });
      await addSchedule(db, {}, [102]);
      await addSchedule(db, { HoraInicio: '12:00' }, [101]);
    },
  });
  await world.pass(second);
  const rows = await devicesOf(world);
  assert.deepEqual(
    rows.map(({ Equipo, EstadoBalanceador }) => [Equipo, EstadoBalanceador]).slice(0, 2),
    [
      ['RPA-PC-001', 'one'],
      ['RPA-PC-002', 'two'],
    ],
  );
  const assigned = await world.db
    .selectFrom('Asignaciones')
    .select(['EquipoId', 'ProgramacionId'])
    .orderBy('ProgramacionId')
    .execute();
  assert.deepEqual(
    assigned.map(({ EquipoId }) => EquipoId),
    [101, 102],
  );
});

for (const [what, durationMs, hours] of [
  ['its slot has run', minute, ['09:00']],
  ['a robot runs on it', 4 * hour, ['09:00', '10:30']],
] as const)
  test(`L-19, L-20: a device that is renamed when ${what} gets no second robot for it`, async () => {
    await using world = await World.start({
      callsBack: false,
      settings: { LANZADOR_INTERVALO_SINCRONIZACION_SEG: '600' },
      prepare: async (db) => {
        await addDevice(db);
        for (const [index, HoraInicio] of hours.entries()) {
          const RobotId = 9_001 + index;
          await addRobot(db, { RobotId, Robot: `P00${index + 1}_Robot` });
          await addSchedule(db, { RobotId, HoraInicio, Tolerancia: 120 });
        }
      },
      room: worldOf({ devices: 1, robots: 2, script: { durationMs } }),
    });
    await world.pass(hour + 5 * minute);
    const device = world.fake.estate.devices.get(101);
    assert.ok(device !== undefined);
    world.fake.estate.devices.set(101, { ...device, hostName: 'NEW-NAME' });
    await world.pass(3 * hour);
    assert.equal(
      (await world.db.selectFrom('Equipos').selectAll().execute())[0]?.Equipo,
      'NEW-NAME',
    );
    assert.equal(world.fake.runs.length, 1);
  });

test('L-8, L-9: a host under the id of one that is gone keeps what the operator has set for it', async () => {
  await using world = await World.start({
    callsBack: false,
    settings: { LANZADOR_INTERVALO_SINCRONIZACION_SEG: '600' },
    prepare: async (db) => {
      await addDevice(db, 1, { Activo_SAM: 0 });
      await addDevice(db, 2);
    },
    room: worldOf({ devices: 2, robots: 1 }),
  });
  await world.pass(minute);
  const device = world.fake.estate.devices.get(102);
  assert.ok(device !== undefined);
  world.fake.estate.devices.delete(101);
  world.fake.estate.devices.set(102, { ...device, hostName: 'RPA-PC-001' });
  await world.pass(15 * minute);
  assert.partialDeepStrictEqual(await devicesOf(world), [
    { EquipoId: 102, Equipo: 'RPA-PC-001', Activo_SAM: 0 },
  ]);
});

test('LH-16: a device that is missing from three synchronisations counts as away; its row and switch stay, and it comes back', async () => {
  await using world = await World.start({ settings: hourly, prepare: none });
  await world.pass(second);
  const host = world.fake.estate.devices.get(103);
  world.fake.estate.devices.delete(103);
  await world.pass(2 * hour + minute);
  assert.equal((await devicesOf(world))[2]?.Conectado, 1);
  await world.pass(hour);
  assert.partialDeepStrictEqual((await devicesOf(world))[2], {
    ...{ Conectado: 0, EstadoA360: 'AUSENTE', Activo_SAM: 1 },
  });
  if (host !== undefined) world.fake.estate.devices.set(103, host);
  await world.pass(hour);
  assert.equal((await devicesOf(world))[2]?.Conectado, 1);
});

test('LH-16: a list that would change most of the devices changes none, and that is told', async () => {
  await using world = await World.start({
    settings: hourly,
    room: worldOf({ devices: 10, robots: 1 }),
    prepare: none,
  });
  await world.pass(second);
  for (let id = 101; id <= 108; id += 1) world.fake.estate.devices.delete(id);
  await world.pass(hour + minute);
  assert.deepEqual(
    (await devicesOf(world)).map(({ Ausencias }) => Ausencias),
    Array(10).fill(0),
  );
  assert.equal(world.alerts.of('sync_refused').length, 1);
});

test('LH-16: an empty list is no news, and half a list is none at all', async () => {
  await using world = await World.start({ settings: hourly, prepare: none });
  await world.pass(second);
  world.fake.faults.add({ endpoint: 'files', status: 500, body: 'oops' });
  world.fake.estate.devices.clear();
  await world.pass(hour + minute);
  assert.equal((await devicesOf(world)).length, 3);
  assert.deepEqual(
    (await devicesOf(world)).map(({ Ausencias }) => Ausencias),
    [0, 0, 0],
  );
});

test('L-11: without synchronisation neither robots nor devices are ever asked for, and that is said', async () => {
  await using world = await World.start({
    settings: { LANZADOR_HABILITAR_SYNC: 'False' },
    prepare: dailyAtNine,
  });
  await world.pass(2 * hour);
  assert.deepEqual([world.fake.calls.count('devices'), world.fake.calls.count('files')], [0, 0]);
  assert.equal(world.fake.runs.length, 1);
  assert.equal(world.lines('LANZADOR_HABILITAR_SYNC is off').length, 1);
});

test('L-12: two thousand robots and devices are there within one synchronisation', async () => {
  await using world = await World.start({
    room: worldOf({ devices: 1_000, robots: 1_000 }),
    prepare: none,
  });
  const begun = systemClock.steady();
  await world.pass(minute);
  assert.equal((await devicesOf(world)).length, 1_000);
  assert.equal((await world.db.selectFrom('Robots').select('RobotId').execute()).length, 1_000);
  assert.ok(systemClock.steady() - begun < 20_000);
});

function execution(EquipoId: number) {
  return {
    ...{ DeploymentId: 'd-1', RobotId: 9_001, EquipoId, UserId: 1, Hora: null, JobId: 'j-1' },
    ...{ FechaInicio: '2026-01-01 00:00:00', FechaFin: '2026-01-01 00:00:00', Estado: 'COMPLETED' },
    ...{ FechaActualizacion: '2026-01-01 00:00:00', CallbackInfo: null, FechaUltimoUNKNOWN: null },
    ...{ FechaPrimerUNKNOWN: null, FechaInicioReal: null, Origen: 'online', ProgramacionId: null },
    ...{ FechaTeorica: null, Motivo: null, FechaInicioUtc: mondayUtc, FechaFinUtc: mondayUtc },
    ...{ FechaUltimoUnknownUtc: null, FechaInicioRealUtc: null },
  };
}
const mondayUtc = Date.UTC(2026, 2, 2, 10, 59);
