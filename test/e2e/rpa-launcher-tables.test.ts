/** The launcher's tables, the same in a file and in PostgreSQL. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import type { AlertMark } from '../../apps/rpa-launcher/src/alerts/contract.ts';
import { exportSchedules, importSchedules } from '../../apps/rpa-launcher/src/cli/csv.ts';
import { addDevice, addRobot, addSchedule } from '../../apps/rpa-launcher/src/simulation/tables.ts';
import { storedAlertMarks } from '../../apps/rpa-launcher/src/tables/alert-marks.ts';
import {
  removeAssignment,
  restoreAssignment,
} from '../../apps/rpa-launcher/src/tables/assignments.ts';
import { countCycle, lastCycle, takeTurn } from '../../apps/rpa-launcher/src/tables/cycles.ts';
import { type Database, openDatabase } from '../../apps/rpa-launcher/src/tables/database.ts';
import { addFailure, forgetFailures } from '../../apps/rpa-launcher/src/tables/failures.ts';
import { mergeDevices } from '../../apps/rpa-launcher/src/tables/merge-devices.ts';
import { readPlanTables } from '../../apps/rpa-launcher/src/tables/plan-tables.ts';
import {
  projectionPosition,
  storeProjection,
  tidyExecutions,
} from '../../apps/rpa-launcher/src/tables/projection.ts';
import { createSchedule, removeSchedule } from '../../apps/rpa-launcher/src/tables/schedules.ts';
import { systemRandom } from '../../packages/capataz/src/std/random.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';

const moment = { now: Date.UTC(2026, 2, 2, 12), zone: 'America/Argentina/Buenos_Aires' };
const opened: Database[] = [];
after(async () => {
  for (const { db, kind, close } of opened) {
    if (kind === 'postgres') await db.schema.dropSchema(schema).cascade().execute();
    await close();
  }
});
const schema = `rpa_${systemRandom.id().replaceAll('-', '').slice(-12)}`;

const places = {
  SQLite: async () => ':memory:',
  PostgreSQL: async () => {
    const url = new URL((await postgresService()).url);
    url.searchParams.set('schema', schema);
    return url.href;
  },
};

test('LH-20: PostgreSQL: a table that is locked by hand does not hold a cycle for ever', async () => {
  const { db, close } = await openDatabase(await places.PostgreSQL());
  const { rows } = await sql`
    select name, setting from pg_settings
    where name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')
    order by name`.execute(db);
  assert.deepEqual(rows, [
    { name: 'idle_in_transaction_session_timeout', setting: '60000' },
    { name: 'lock_timeout', setting: '20000' },
    { name: 'statement_timeout', setting: '60000' },
  ]);
  await close();
});

for (const [name, place] of Object.entries(places)) {
  test(`${name}: what the launcher stores it finds again`, async () => {
    const database = await openDatabase(await place());
    opened.push(database);
    const { db } = database;
    await addRobot(db);
    await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot', EsOnline: 1 });
    for (const n of [1, 2]) await addDevice(db, n);
    const daily = await addSchedule(db, { HoraInicio: '09:00' });

    const tables = await readPlanTables(db);
    assert.deepEqual(
      tables.schedules.map(({ HoraInicio, Tolerancia }) => [HoraInicio.slice(0, 5), Tolerancia]),
      [['09:00', 60]],
    );
    assert.equal(tables.devices[0]?.Conectado, 1);

    // LH-7
    const used = { RobotId: 9_001, EquipoId: 101, ProgramacionId: daily };
    assert.equal(
      await removeAssignment(db, { ...used, jobId: 'j', reason: '400: no' }, moment),
      true,
    );
    assert.equal((await readPlanTables(db)).assignments.length, 0);
    const [kept] = await db.selectFrom('AsignacionesRetiradas').selectAll().execute();
    await restoreAssignment(db, kept?.RetiradaId ?? 0, { ...moment, by: 'ana' });
    assert.deepEqual((await readPlanTables(db)).assignments, [{ ...used, EsProgramado: 1 }]);
    await assert.rejects(restoreAssignment(db, kept?.RetiradaId ?? 0, { ...moment, by: 'ana' }), {
      code: 'VALIDATION_FAILED',
    });

    await addFailure(db, { robotId: 9_001, device: 'RPA-PC-001' }, { now: 0, reason: 'x' });
    await addFailure(db, { robotId: 9_001, device: 'RPA-PC-001' }, { now: 0, reason: 'x' });
    const failure = (await readPlanTables(db)).failures.get('9001/rpa-pc-001');
    assert.equal(failure?.notBefore, 60_000);
    await forgetFailures(db, { robotId: 9_001, device: 'rpa-pc-001' });
    assert.equal((await readPlanTables(db)).failures.size, 0);

    await storeProjection(db, [row(101)], 7);
    await storeProjection(
      db,
      [{ ...row(101), Estado: 'COMPLETED', FechaFin: local, FechaFinUtc: 5 }],
      9,
    );
    assert.equal(await projectionPosition(db), 9);
    assert.partialDeepStrictEqual(await db.selectFrom('Ejecuciones').selectAll().execute(), [
      { Estado: 'COMPLETED', FechaInicio: local, FechaFin: local, FechaInicioUtc: 1 },
    ]);

    // L-10: a device under a new id takes everything along, also where the projection speaks later.
    const runner = {
      deviceId: 201,
      hostName: 'rpa-pc-001',
      userId: 5_001,
      userName: 'r',
      license: 'RUNTIME',
      isConnected: true,
    };
    await mergeDevices(db, [runner, { ...runner, deviceId: 102, hostName: 'RPA-PC-002' }], {
      absencesAllowed: 3,
    });
    await storeProjection(db, [{ ...row(101), Estado: 'COMPLETED', FechaFinUtc: 5 }], 10);
    assert.equal(
      (await db.selectFrom('Ejecuciones').select('EquipoId').execute())[0]?.EquipoId,
      201,
    );
    const day = 86_400_000;
    await tidyExecutions(db, { now: day, moveAfterMs: 1_000, keepMs: 10 * day });
    await storeProjection(db, [row(101)], 11);
    assert.deepEqual(await db.selectFrom('Ejecuciones').selectAll().execute(), []);
    assert.equal((await db.selectFrom('Ejecuciones_Historico').selectAll().execute()).length, 1);

    // LH-26: what a table does not take costs its own row at most.
    const odd = (DeploymentId: string, JobId: string) => ({ ...row(201), DeploymentId, JobId });
    const unfit = await storeProjection(
      db,
      [odd('d-2', 'j-2'), odd('d-2', 'j-3'), odd('d-4', 'j-4')],
      12,
    );
    assert.deepEqual(
      unfit.map(({ row: { JobId } }) => JobId),
      ['j-3'],
    );
    const stored = await db.selectFrom('Ejecuciones').select('JobId').orderBy('JobId').execute();
    assert.deepEqual(stored, [{ JobId: 'j-2' }, { JobId: 'j-4' }]);
    assert.equal(await projectionPosition(db), 12);

    const marks = storedAlertMarks(db);
    const mark = {
      ...{ kind: 'bad_request' as const, key: 'pc', message: 'm', facts: { a: 1 }, count: 2 },
      ...{ firstRaisedAt: 1, lastRaisedAt: 2, mailedAt: null, isUnsent: true },
    } satisfies AlertMark;
    await marks.put(mark);
    await marks.put({ ...mark, count: 3 });
    assert.deepEqual(await marks.all(), [{ ...mark, count: 3 }]);
    await marks.remove('bad_request', 'pc');
    assert.deepEqual(await marks.all(), []);

    await countCycle(db, 'desplegador', { begun: 1, ended: 2, result: 'x' });
    await countCycle(db, 'desplegador', { begun: 3, ended: 4, result: 'y' });
    assert.partialDeepStrictEqual(await lastCycle(db, 'desplegador'), { InicioUtc: 3, Vueltas: 2 });
  });

  test(`${name}: a file of schedules goes in whole or not at all, says where it is wrong, and comes out the same`, async () => {
    const database = opened.find(({ kind }) => (kind === 'sqlite') === (name === 'SQLite'));
    assert.ok(database !== undefined);
    const { db } = database;
    const words = { ...moment, by: 'ana', file: 'plan.csv' };
    const good =
      'Robot,Equipos,TipoProgramacion,HoraInicio,DiasSemana\nP002_Robot,RPA-PC-002,Semanal,07:15,"Lu,Vi"\n';
    const bad = `${good}P009_Robot,RPA-PC-002,Anual,25:00,\n`;
    await assert.rejects(importSchedules(db, { ...words, text: bad }), (error: Error) => {
      assert.match(error.message, /plan\.csv line 3: Robot: there is no robot P009_Robot/);
      assert.match(error.message, /plan\.csv line 3: HoraInicio: "25:00"/);
      assert.match(error.message, /plan\.csv line 3: TipoProgramacion: "Anual"/);
      return true;
    });
    assert.equal((await db.selectFrom('Programaciones').selectAll().execute()).length, 1);
    for (const [text, problem] of [
      [good.replace('DiasSemana', 'DiaSemana'), /plan\.csv line 1: there is no column "DiaSemana"/],
      [
        good.replace('TipoProgramacion', 'HoraInicio'),
        /plan\.csv line 1: the column HoraInicio is there twice/,
      ],
      ['Robot,Equipos,HoraInicio\n=1+1,RPA-PC-002,07:15', /line 2: Robot: there is no robot =1\+1/],
      [
        'Robot,Equipos,TipoProgramacion,HoraInicio,FechaEspecifica\nP002_Robot,RPA-PC-002,Especifica,07:15,2026-02-31',
        /line 2: FechaEspecifica/,
      ],
      [
        'Robot,Equipos,HoraInicio,FechaInicioVentana,FechaFinVentana\nP002_Robot,RPA-PC-002,07:15,2026-03-02,2026-03-01',
        /line 2: FechaFinVentana: is before FechaInicioVentana/,
      ],
    ] as const)
      await assert.rejects(importSchedules(db, { ...words, text }), problem);
    const excel = `\uFEFF${good.replaceAll('\n', '\r\n')}`;
    const [id] = await importSchedules(db, { ...words, text: excel });
    assert.match(await exportSchedules(db), /P002_Robot,RPA-PC-002,Semanal,07:15/);
    const schedule = (
      await db
        .selectFrom('Programaciones')
        .selectAll()
        .where('ProgramacionId', '=', id ?? 0)
        .execute()
    )[0];
    assert.ok(schedule !== undefined);
    const { ProgramacionId, Activo, FechaCreacion, FechaModificacion, ...again } = schedule;
    await assert.rejects(
      createSchedule(db, { schedule: again, devices: ['rpa-pc-002'], by: 'ana' }, moment),
      /its window overlaps others.*\nRPA-PC-002: schedule/,
    );
    await removeSchedule(db, ProgramacionId, { ...moment, by: 'ana' });
    // Two folders of the Control Room hold a robot of this name.
    await addRobot(db, { RobotId: 9_003, Robot: 'P002_Robot' });
    await assert.rejects(
      importSchedules(db, { ...words, text: good }),
      /"P002_Robot" names several robots: 9002, 9003/,
    );
    await importSchedules(db, { ...words, text: good.replace('P002_Robot', '9003') });
    await db.updateTable('Robots').set({ Robot: '=P003' }).where('RobotId', '=', 9_003).execute();
    const safe = await exportSchedules(db);
    assert.match(safe, /\n'=P003,RPA-PC-002/);
    const mine = await db
      .selectFrom('Programaciones')
      .selectAll()
      .where('RobotId', '=', 9_003)
      .executeTakeFirstOrThrow();
    await removeSchedule(db, mine.ProgramacionId, { ...moment, by: 'ana' });
    const again2 = safe
      .split('\n')
      .filter((one) => !one.startsWith('P001'))
      .join('\n');
    const [back] = await importSchedules(db, { ...words, text: again2 });
    await removeSchedule(db, back ?? 0, { ...moment, by: 'ana' });
    const [device] = await db
      .selectFrom('Equipos')
      .selectAll()
      .where('EquipoId', '=', 102)
      .execute();
    assert.deepEqual([Activo, device?.PermiteBalanceoDinamico], [1, 1]);
    assert.notEqual(FechaCreacion, FechaModificacion === null);
  });

  test(`LH-20: ${name}: of two launchers on the same tables one is on turn, and the other takes over when it is silent`, async () => {
    const database = opened.find(({ kind }) => (kind === 'sqlite') === (name === 'SQLite'));
    assert.ok(database !== undefined);
    const turn = (owner: string, now: number) =>
      takeTurn(database.db, { owner, now, forMs: 60_000 });
    assert.deepEqual(
      [await turn('a', 0), await turn('b', 1), await turn('a', 30_000)],
      [true, false, true],
    );
    assert.deepEqual(
      [await turn('b', 90_000), await turn('b', 90_001), await turn('a', 90_002)],
      [false, true, false],
    );
  });
}

const local = '2026-03-02 09:00:00';
function row(EquipoId: number) {
  return {
    ...{
      DeploymentId: 'd-1',
      RobotId: 9_001,
      EquipoId,
      UserId: 5_001,
      Hora: '09:00',
      JobId: 'j-1',
    },
    ...{ FechaInicio: local, FechaFin: null, Estado: 'DEPLOYED', FechaActualizacion: local },
    ...{
      CallbackInfo: null,
      FechaUltimoUNKNOWN: null,
      FechaPrimerUNKNOWN: null,
      FechaInicioReal: null,
    },
    ...{ Origen: 'programada', ProgramacionId: 1, FechaTeorica: '2026-03-02', Motivo: null },
    ...{
      FechaInicioUtc: 1,
      FechaFinUtc: null,
      FechaUltimoUnknownUtc: null,
      FechaInicioRealUtc: null,
    },
  };
}

test('PostgreSQL: two launchers live in one database, each in a schema of its own', async () => {
  const url = new URL((await postgresService()).url);
  for (const name of [`${schema}_a`, `${schema}_b`]) {
    url.searchParams.set('schema', name);
    const database = await openDatabase(url.href);
    try {
      assert.deepEqual(await database.db.selectFrom('Robots').selectAll().execute(), []);
      await addRobot(database.db);
    } finally {
      await database.close();
    }
  }
  const { db, close } = await openDatabase(url.href);
  for (const name of [`${schema}_a`, `${schema}_b`])
    await db.schema.dropSchema(name).cascade().execute();
  await close();
});
