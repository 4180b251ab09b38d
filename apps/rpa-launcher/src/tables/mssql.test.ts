/**
 * The launcher's schema and queries as SQL Server gets them. They are compiled and compared here, and NOT
 * RUN: there is no SQL Server to run them on. After a change: `--test-update-snapshots`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DummyDriver, Kysely, MssqlAdapter, MssqlIntrospector, MssqlQueryCompiler } from 'kysely';
import { noSchedule } from '../simulation/tables.ts';
import { storedAlertMarks } from './alert-marks.ts';
import { removeAssignment } from './assignments.ts';
import { countCycle, takeTurn } from './cycles.ts';
import { addFailure } from './failures.ts';
import { mergeDevices } from './merge-devices.ts';
import { mergeRobots } from './merge-robots.ts';
import { firstMigration } from './migrations/first.ts';
import { readPlanTables } from './plan-tables.ts';
import { storeProjection, tidyExecutions } from './projection.ts';
import { createSchedule } from './schedules.ts';
import type { Tables } from './schema.ts';

/** Answers every query with nothing, and remembers it. */
function recorded(): { readonly db: Kysely<Tables>; readonly statements: string[] } {
  const statements: string[] = [];
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new MssqlAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (inner) => new MssqlIntrospector(inner),
      createQueryCompiler: () => new MssqlQueryCompiler(),
    },
    log: ({ query }) => {
      statements.push(`${query.sql};`);
    },
  });
  return { db, statements };
}

const file = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const asText = { serializers: [(lines: string[]) => `${lines.join('\n')}\n`] };
const moment = { now: 0, zone: 'America/Argentina/Buenos_Aires' };

test('the schema for SQL Server is compiled as it was looked through (not run here)', async (t) => {
  const { db, statements } = recorded();
  // The migration is typed for a database that it is about to make.
  await firstMigration('mssql').up(db as unknown as Kysely<unknown>);
  t.assert.fileSnapshot(statements, file('mssql-schema.sql'), asText);
});

test('the queries for SQL Server are compiled as they were looked through (not run here)', async (t) => {
  const { db, statements } = recorded();
  await readPlanTables(db);
  await mergeRobots(db, [{ robotId: 1, name: 'P1', description: null, path: '' }]);
  const runner = { deviceId: 1, hostName: 'pc', userId: 1, userName: 'u', license: 'RUNTIME' };
  await mergeDevices(db, [{ ...runner, isConnected: true }], { absencesAllowed: 3 });
  await addFailure(db, { robotId: 1, device: 'pc' }, { now: 0, reason: 'x' });
  const used = { RobotId: 1, EquipoId: 1, ProgramacionId: null };
  await removeAssignment(db, { ...used, jobId: 'j', reason: 'x' }, moment);
  await countCycle(db, 'desplegador', { begun: 0, ended: 1, result: '' }).catch(() => undefined);
  await takeTurn(db, { owner: 'a', now: 0, forMs: 1 }).catch(() => undefined);
  await storeProjection(db, [], 1);
  await tidyExecutions(db, { now: 0, moveAfterMs: 1, keepMs: 1 });
  await storedAlertMarks(db).all();
  const daily = {
    ...noSchedule,
    RobotId: 1,
    TipoProgramacion: 'Diaria',
    HoraInicio: '09:00',
    EsCiclico: 0,
  };
  await createSchedule(db, { schedule: daily, devices: ['pc'], by: 'x' }, moment).catch(
    () => undefined,
  );
  const insert = db
    .insertInto('Pools')
    .values({ Nombre: 'p', Descripcion: null, FechaCreacion: null, FechaModificacion: null });
  await insert.output('inserted.PoolId').execute();
  assert.deepEqual(
    statements.filter((one) => /\blimit\b|returning|on conflict/.test(one)),
    [],
  );
  t.assert.fileSnapshot(statements, file('mssql-queries.sql'), asText);
});
