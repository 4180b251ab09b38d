/** Files of schedules: what is wrong is told with file, line and column, all of it at once, and nothing is lost. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CapatazError } from 'capataz';
import { addDevice, addRobot, addSchedule } from '../simulation/tables.ts';
import { openDatabase } from '../tables/database.ts';
import { switchSchedule } from '../tables/schedules.ts';
import { exportSchedules, importSchedules } from './csv.ts';

const moment = { now: Date.UTC(2026, 2, 2, 11), zone: 'America/Argentina/Buenos_Aires' };
const database = await openDatabase(':memory:');
const { db } = database;
after(() => database.close());
for (const n of [1, 2, 3]) {
  await addRobot(db, { RobotId: 9_000 + n, Robot: `P00${n}_Robot` });
  await addDevice(db, n);
}

const words = { ...moment, by: 'ana', file: 'plan.csv' };

async function problemsOf(...lines: string[]): Promise<string[]> {
  try {
    await importSchedules(db, { ...words, text: lines.join('\n') });
    return [];
  } catch (error) {
    assert.ok(error instanceof CapatazError, String(error));
    return error.message.split('\n');
  }
}

async function clean(): Promise<void> {
  await db.deleteFrom('Asignaciones').execute();
  await db.deleteFrom('Programaciones').execute();
}

test('a column that there is none of, or one that is missing, is told: its values would be lost', async () => {
  assert.deepEqual(
    await problemsOf('Robot,Equipos,Hora,Tolerancai', 'P001_Robot,RPA-PC-001,08:00,5'),
    [
      'plan.csv line 1: there is no column "Hora"',
      'plan.csv line 1: there is no column "Tolerancai"',
      'plan.csv line 1: the column HoraInicio is missing',
    ],
  );
  assert.deepEqual(await problemsOf(''), ['plan.csv: there is no schedule in it']);
  assert.deepEqual(await problemsOf('Robot,Equipos,HoraInicio'), [
    'plan.csv: there is no schedule in it',
  ]);
});

test('everything that is wrong is told at once: devices and windows that overlap, too', async () => {
  const problems = await problemsOf(
    'Robot,Equipos,HoraInicio,DiasSemana,TipoProgramacion,EsCiclico',
    'P001_Robot,RPA-PC-001;RPA-PC-009,08:00,,,',
    '',
    'P002_Robot,RPA-PC-002,09:00,,,',
    'P003_Robot,RPA-PC-002,09:30,,,',
    'P003_Robot,RPA-PC-003,10:00,"Lu,Foo",Semanal,',
    'P00X,RPA-PC-003,10h,,,quizás',
  );
  assert.deepEqual(problems, [
    'plan.csv line 2: Equipos: there is no device RPA-PC-009',
    'plan.csv line 5: its window overlaps others on the same device: RPA-PC-002: schedule 1 of P002_Robot at 09:00',
    'plan.csv line 6: DiasSemana: "Foo" is no day; write them like Lu,Mi,Vi',
    'plan.csv line 7: EsCiclico: "quizás" is neither 1 nor 0',
  ]);
  assert.deepEqual(await db.selectFrom('Programaciones').selectAll().execute(), []);
});

test('a spreadsheet that puts semicolons between, and writes True and empty lines, is read as well', async () => {
  const text =
    'Robot;Equipos;HoraInicio;EsCiclico;IntervaloEntreEjecuciones\r\nP001_Robot;"RPA-PC-001;RPA-PC-002";08:00;True;15\r\n;;;;\r\n';
  assert.equal((await importSchedules(db, { ...words, text })).length, 1);
  assert.match(await exportSchedules(db), /P001_Robot,RPA-PC-001;RPA-PC-002,Diaria,08:00,60,.*,15/);
  await clean();
});

test('what was exported comes in as it was: a schedule that is not active does not become so', async () => {
  const id = await addSchedule(db, { HoraInicio: '08:30:00' });
  await switchSchedule(db, id, { ...moment, isActive: false, by: 'ana' });
  await addSchedule(db, { RobotId: 9_002, HoraInicio: '08:30:00' });
  const exported = await exportSchedules(db);
  assert.match(exported, /^P001_Robot,RPA-PC-001,Diaria,08:30,.*,0$/m);
  await clean();
  await importSchedules(db, { ...words, text: exported });
  assert.equal(await exportSchedules(db), exported);
  await clean();
});

test('what only another kind of schedule has is refused rather than kept without effect', async () => {
  const header =
    'Robot,Equipos,HoraInicio,TipoProgramacion,FechaEspecifica,HoraFin,FechaInicioVentana,FechaFinVentana';
  assert.deepEqual(
    await problemsOf(
      header,
      'P001_Robot,RPA-PC-001,08:00,Especifica,2026-02-30,,,',
      'P001_Robot,RPA-PC-001,08:00,Diaria,,12:00,,',
      'P001_Robot,RPA-PC-001,08:00,Diaria,,,2026-03-02,2026-03-01',
    ),
    [
      'plan.csv line 2: FechaEspecifica: must be a date like 2026-03-31',
      'plan.csv line 3: HoraFin: only a cyclic schedule has one',
      'plan.csv line 4: FechaFinVentana: is before FechaInicioVentana',
    ],
  );
});

test('a schedule that is enabled again finds its device and its robot as a new one would', async () => {
  const id = await addSchedule(db);
  await switchSchedule(db, id, { ...moment, isActive: false, by: 'ana' });
  const other = await addSchedule(db, { RobotId: 9_002, HoraInicio: '09:30' });
  const enable = switchSchedule(db, id, { ...moment, isActive: true, by: 'ana' });
  await assert.rejects(enable, /RPA-PC-001: schedule \d+ of P002_Robot at 09:30/);
  await switchSchedule(db, other, { ...moment, isActive: false, by: 'ana' });
  await db.updateTable('Robots').set({ EsOnline: 1 }).where('RobotId', '=', 9_001).execute();
  await switchSchedule(db, id, { ...moment, isActive: true, by: 'ana' });
  const robots = await db.selectFrom('Robots').select('EsOnline').orderBy('RobotId').execute();
  assert.equal(robots[0]?.EsOnline, 0);
  await clean();
});
