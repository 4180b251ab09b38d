import { hourText } from '../planning/local-time.ts';
import { executedKey, type PlanTables, pairKey } from '../planning/model.ts';
import type { Db } from './database.ts';

/** Everything that a deploy cycle goes by, read anew each time: others write it, too (S-93). */
export async function readPlanTables(db: Db): Promise<PlanTables> {
  const robots = await db
    .selectFrom('Robots')
    .select(['RobotId', 'Robot', 'Parametros', 'Activo', 'EsOnline', 'PrioridadBalanceo'])
    .execute();
  const devices = await db
    .selectFrom('Equipos')
    .select(['EquipoId', 'Equipo', 'UserId', 'Activo_SAM', 'PoolId', 'Conectado', 'EstadoA360'])
    .execute();
  const assignments = await db
    .selectFrom('Asignaciones')
    .select(['RobotId', 'EquipoId', 'EsProgramado', 'ProgramacionId'])
    .execute();
  const schedules = await db.selectFrom('Programaciones').selectAll().execute();
  const pools = await db.selectFrom('Pools').select(['PoolId', 'Activo']).execute();
  const failures = await db.selectFrom('Fallos').selectAll().execute();
  const hosts = new Map(devices.map(({ EquipoId, Equipo }) => [EquipoId, Equipo]));
  const repeats = schedules.some((one) => one.EsCiclico === 1 && one.IntervaloEntreEjecuciones);
  return {
    ...{ robots, devices, assignments, schedules, pools },
    failures: new Map(
      failures.map((one) => [
        pairKey(one.RobotId, one.Equipo),
        { notBefore: one.ProximoUtc, reason: one.Motivo },
      ]),
    ),
    lastEnds: repeats ? await lastEnds(db, hosts) : new Map(),
    executed: await executed(db),
  };
}

/** Rows stay in Ejecuciones for longer than any window. */
async function executed(db: Db): Promise<Set<string>> {
  const rows = await db
    .selectFrom('Ejecuciones')
    .select(['RobotId', 'EquipoId', 'FechaTeorica', 'Hora'])
    .where('Origen', '=', 'programada')
    .execute();
  return new Set(
    rows.map(({ RobotId, EquipoId, FechaTeorica, Hora }) =>
      executedKey(RobotId, EquipoId, { date: FechaTeorica, hour: hourText(Hora ?? '') }),
    ),
  );
}

async function lastEnds(db: Db, hosts: ReadonlyMap<number, string>): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  for (const table of ['Ejecuciones_Historico', 'Ejecuciones'] as const) {
    const rows = await db
      .selectFrom(table)
      .select(({ fn }) => ['RobotId', 'EquipoId', fn.max('FechaFinUtc').as('end')])
      .where('FechaFinUtc', 'is not', null)
      .groupBy(['RobotId', 'EquipoId'])
      .execute();
    for (const { RobotId, EquipoId, end } of rows) {
      const key = pairKey(RobotId, hosts.get(EquipoId) ?? String(EquipoId));
      ends.set(key, Math.max(ends.get(key) ?? 0, Number(end)));
    }
  }
  return ends;
}
