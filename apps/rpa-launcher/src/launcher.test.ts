/** The three cycles side by side, starts and stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from './fake-control-room/world.ts';
import { justBeforeNine } from './fixtures/nine.ts';
import { addDevice, addRobot, addSchedule, assign, dailyAtNine } from './simulation/tables.ts';
import { hour, minute, second, World } from './simulation/world.ts';
import { createSchedule } from './tables/schedules.ts';

test('L-61: a launcher without a mail server starts, and says once that nothing is mailed', async () => {
  await using world = await World.start();
  await world.pass(minute);
  assert.equal(world.lines('mail is not set up').length, 1);
});

test('L-1: while the activity list does not answer, robots are deployed and devices synchronised', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    settings: {
      LANZADOR_INTERVALO_SINCRONIZACION_SEG: '60',
      LANZADOR_INTERVALO_CONCILIACION_SEG: '5',
    },
    room: {
      ...worldOf({ devices: 2, robots: 2, script: { durationMs: null } }),
      faults: [{ endpoint: 'activity', delayMs: 100 * second }],
    },
    prepare: async (db) => {
      await dailyAtNine(db);
      await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot' });
      await addDevice(db, 2);
      await addSchedule(db, { RobotId: 9_002, HoraInicio: '09:01' }, [102]);
    },
  });
  await world.pass(100 * second);
  assert.equal(world.fake.calls.count('activity'), 1);
  assert.equal(world.fake.runs.length, 2);
  assert.equal(world.fake.calls.count('devices'), 2);
});

test('L-2, S-90: each interval is its own, counted from the end of a cycle, and all three run at the start', async () => {
  await using world = await World.start({
    settings: {
      LANZADOR_INTERVALO_LANZAMIENTO_SEG: '1',
      LANZADOR_INTERVALO_SINCRONIZACION_SEG: '2',
      LANZADOR_INTERVALO_CONCILIACION_SEG: '3',
    },
    prepare: async () => {},
  });
  await world.pass(second / 2);
  const turns = async () => {
    const rows = await world.db.selectFrom('Ciclos').select(['Ciclo', 'Vueltas']).execute();
    return Object.fromEntries(rows.map(({ Ciclo, Vueltas }) => [Ciclo, Vueltas]));
  };
  assert.deepEqual(await turns(), { sincronizador: 1, desplegador: 1, conciliador: 1 });
  await world.pass(12 * second);
  assert.deepEqual(await turns(), { sincronizador: 7, desplegador: 13, conciliador: 5 });
});

test('L-4, L-62: a cycle that fails is told as CRITICAL, by mail too; its next turn comes, and the others never stop', async () => {
  await using world = await World.start({
    settings: { LANZADOR_INTERVALO_SINCRONIZACION_SEG: '60' },
    room: {
      ...worldOf({ devices: 1, robots: 1 }),
      faults: [{ endpoint: 'users', status: 403, body: '{}', times: 1 }],
    },
    prepare: async () => {},
  });
  await world.pass(30 * second);
  assert.equal(world.lines(/"critical":true/).length, 1);
  assert.equal(world.alerts.mails.length, 1);
  assert.ok((await cycle(world, 'desplegador')) >= 2);
  await world.pass(40 * second);
  assert.equal((await world.db.selectFrom('Equipos').selectAll().execute()).length, 1);
});

test('L-1, L-61: a mail server that never answers keeps nobody from being deployed', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    prepare: async (db) => {
      await dailyAtNine(db);
      await addDevice(db, 2);
      await addSchedule(db, { HoraInicio: '09:05' }, [102]);
    },
    room: { faults: [{ endpoint: 'deploy', times: 1, status: 400, body: 'no such variable' }] },
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  world.alerts.delivery = promise;
  await world.pass(10 * minute);
  assert.equal(world.alerts.mails.length, 1);
  assert.equal(world.fake.runs.length, 1);
  resolve();
});

test('LH-20, L-4: while the tables do not answer nothing is deployed, and that is told', async () => {
  await using world = await World.start({ now: justBeforeNine, prepare: dailyAtNine });
  await world.pass(second);
  await world.db.schema.alterTable('Robots').renameTo('Elsewhere').execute();
  await world.pass(minute);
  assert.equal(world.fake.runs.length, 0);
  assert.ok(world.alerts.of('cycle_failed').length >= 1);
  await world.db.schema.alterTable('Elsewhere').renameTo('Robots').execute();
  await world.pass(minute);
  assert.equal(world.fake.runs.length, 1);
});

test('L-5: the launcher calls nobody but Control Room, gateway, mail and database', async () => {
  await using world = await World.start({ now: justBeforeNine, prepare: dailyAtNine });
  await world.pass(20 * minute);
  const { calls } = world.fake;
  const known = ['login', 'refresh', 'devices', 'users', 'files', 'deploy', 'activity', 'logout'];
  const asked = new Set(calls.seen().map(({ endpoint }) => endpoint));
  assert.deepEqual(
    [...asked].filter((one) => !known.includes(one)),
    [],
  );
  // Balancing is the balancer's: the launcher only reads what it assigned.
  const [device] = await world.db.selectFrom('Equipos').selectAll().execute();
  assert.equal(device?.EstadoBalanceador, null);
});

test('L-68, L-64: a daily schedule ends the online mode of its robot and takes its devices out of balancing', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    prepare: async (db) => {
      await addRobot(db, { EsOnline: 1 });
      await addDevice(db);
      const schedule = { ...dailyWords, RobotId: 9_001, HoraInicio: '09:00' };
      const moment = { now: justBeforeNine, zone: 'America/Argentina/Buenos_Aires' };
      await createSchedule(db, { schedule, devices: ['rpa-pc-001'], by: 'ana' }, moment);
    },
  });
  const [robot] = await world.db.selectFrom('Robots').selectAll().execute();
  const [device] = await world.db.selectFrom('Equipos').selectAll().execute();
  assert.deepEqual([robot?.EsOnline, device?.PermiteBalanceoDinamico], [0, 0]);
  assert.equal((await world.db.selectFrom('Programaciones').selectAll().execute()).length, 1);
  const [assignment] = await world.db.selectFrom('Asignaciones').selectAll().execute();
  assert.partialDeepStrictEqual(assignment, {
    EsProgramado: 1,
    ProgramacionId: 1,
    AsignadoPor: 'ana',
  });
  await world.pass(2 * minute);
  assert.equal((await world.executions())[0]?.Estado, 'RUN_COMPLETED');
});

const dailyWords = {
  ...{ TipoProgramacion: 'Diaria', DiasSemana: null, DiaDelMes: null, FechaEspecifica: null },
  ...{ Tolerancia: 60, DiaInicioMes: null, DiaFinMes: null, UltimosDiasMes: null, EsCiclico: 0 },
  ...{ HoraFin: null, FechaInicioVentana: null, FechaFinVentana: null },
  IntervaloEntreEjecuciones: null,
};

test('LH-24, L-55: a stop begins no further batch, and a call under way ends with its row', async () => {
  const first = await World.start({
    now: justBeforeNine,
    settings: { LANZADOR_MAX_WORKERS: '1' },
    config: { storeUrl: null, drain: 60 * second },
    databaseUrl: 'file',
    room: {
      ...worldOf({ devices: 2, robots: 2, script: { durationMs: null } }),
      faults: [{ endpoint: 'deploy', answerDelayMs: 8 * second, times: 1 }],
    },
    prepare: async (db) => {
      await dailyAtNine(db);
      await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot' });
      await addDevice(db, 2);
      await addSchedule(db, { RobotId: 9_002 }, [102]);
    },
  });
  await using world = first;
  await world.pass(15 * second);
  assert.equal(world.fake.calls.count('deploy'), 1);
  await world.stop();
  assert.equal(world.fake.calls.count('deploy'), 1);
  const next = await World.start({
    config: { storeUrl: null },
    databaseUrl: 'file',
    previous: world,
  });
  await next.pass(minute);
  assert.equal(next.fake.runs.length, 2);
  assert.deepEqual(
    (await next.executions()).map(({ RobotId }) => RobotId),
    [9_001, 9_002],
  );
  await next.stop();
});

test('LH-1, L-56: a call that outlives the stop is looked up after the next start, and its robot runs once', async () => {
  await using world = await World.start({
    now: justBeforeNine,
    config: { storeUrl: null, drain: second },
    databaseUrl: 'file',
    room: {
      ...worldOf({ devices: 1, robots: 1, script: { durationMs: 20 * minute } }),
      faults: [{ endpoint: 'deploy', answerDelayMs: 110 * second, times: 1 }],
    },
    prepare: dailyAtNine,
  });
  await world.pass(15 * second);
  await world.stop();
  const next = await World.start({
    config: { storeUrl: null },
    databaseUrl: 'file',
    previous: world,
  });
  await next.pass(5 * minute);
  assert.equal(next.fake.runs.length, 1);
  assert.equal((await next.executions())[0]?.DeploymentId, next.fake.runs[0]?.deploymentId);
  await next.stop();
});

test('S-92: slots that went by while no launcher ran end OMITIDA and are told', async () => {
  await using world = await World.start({
    prepare: dailyAtNine,
    config: { storeUrl: null },
    databaseUrl: 'file',
  });
  await world.pass(minute);
  await world.stop();
  await world.clock.advance(4 * hour);
  const next = await World.start({
    config: { storeUrl: null },
    databaseUrl: 'file',
    previous: world,
  });
  await next.pass(minute);
  const [job] = await next.jobs();
  assert.deepEqual([job?.state, next.fake.runs.length], ['OMITIDA', 0]);
  assert.equal(next.alerts.of('slot_skipped').length, 1);
  await next.stop();
});

test('S-92: slots that went by while no cycle could work end OMITIDA and are told', async () => {
  await using world = await World.start({ now: justBeforeNine, prepare: dailyAtNine });
  await world.pass(second);
  const rename = (from: string, to: string) =>
    world.db.schema.alterTable(from).renameTo(to).execute();
  await rename('Asignaciones', 'Aparte');
  await world.pass(2 * hour);
  await rename('Aparte', 'Asignaciones');
  await world.pass(minute);
  assert.deepEqual(
    (await world.jobs()).map(({ state }) => state),
    ['OMITIDA'],
  );
  assert.equal(world.alerts.of('slot_skipped').length, 1);
});

test('S-94: an operator’s run goes first, with its own input; a stop goes to the Control Room; a release frees the device', async () => {
  await using world = await World.start({
    room: worldOf({ devices: 1, robots: 1, script: { durationMs: null } }),
    prepare: async (db) => {
      await addRobot(db, { EsOnline: 1 });
      await addDevice(db);
      await assign(db, { RobotId: 9_001, EquipoId: 101 });
      await db.updateTable('Robots').set({ EsOnline: 0 }).execute();
    },
  });
  await world.pass(second);
  const botInput = { in_Modo: { type: 'STRING', string: 'total' } };
  const [jobId] = await world.launcher.world.executions.start([
    {
      ...{
        origin: 'manual',
        robotId: 9_001,
        robot: 'P001_Robot',
        deviceId: 101,
        device: 'RPA-PC-001',
      },
      ...{ scheduleId: null, date: null, hour: null, by: 'ana', botInput },
      ...{ startsAt: world.clock.now(), endsAt: world.clock.now() + hour },
    },
  ]);
  await world.pass(20 * second);
  const [call] = world.fake.calls.seen('deploy');
  assert.deepEqual(JSON.parse(call?.body ?? '').botInput, botInput);
  await world.client.jobs.signal(jobId ?? '', 'parar', { by: 'ana' });
  await world.pass(20 * second);
  assert.equal(world.fake.runs[0]?.status, 'RUN_ABORTED');
  assert.equal((await world.executions())[0]?.Estado, 'RUN_ABORTED');
  await world.db.updateTable('Robots').set({ EsOnline: 1 }).execute();
  await world.pass(20 * second);
  const second_ = (await world.jobs()).at(-1);
  await world.client.jobs.signal(second_?.id ?? '', 'liberar', { by: 'ana' });
  await world.pass(20 * second);
  assert.match(String((await world.jobs()).at(-2)?.data.reason), /released by ana/);
  assert.equal(world.fake.calls.count('deploy'), 3);
});

async function cycle(world: World, name: string): Promise<number> {
  const row = await world.db
    .selectFrom('Ciclos')
    .select('Vueltas')
    .where('Ciclo', '=', name)
    .executeTakeFirst();
  return row?.Vueltas ?? 0;
}
