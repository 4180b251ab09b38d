import { CapatazError } from 'capataz';
import { localText } from '../planning/local-time.ts';
import type { Assignment } from '../planning/model.ts';
import { audit } from './audit.ts';
import { type Db, inTransaction } from './database.ts';
import { forgetFailures } from './failures.ts';

export interface Moment {
  readonly now: number;
  readonly zone: string;
}

export interface Removal extends Pick<Assignment, 'RobotId' | 'EquipoId' | 'ProgramacionId'> {
  readonly jobId: string;
  readonly reason: string;
}

/**
 * Takes away the one assignment that was used, and keeps it with the reason, so that it can be put back:
 * the row is gone from Asignaciones as the seed wants it (LH-7).
 * @returns whether there was one
 */
export async function removeAssignment(db: Db, removal: Removal, moment: Moment): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { RobotId, EquipoId, ProgramacionId } = removal;
    const found = await tx
      .selectFrom('Asignaciones')
      .selectAll()
      .where('RobotId', '=', RobotId)
      .where('EquipoId', '=', EquipoId)
      .where('ProgramacionId', ProgramacionId === null ? 'is' : '=', ProgramacionId)
      .executeTakeFirst();
    if (found === undefined) return false;
    const { AsignacionId, ...kept } = found;
    const device = await tx
      .selectFrom('Equipos')
      .select('PermiteBalanceoDinamico')
      .where('EquipoId', '=', EquipoId)
      .executeTakeFirst();
    await tx.deleteFrom('Asignaciones').where('AsignacionId', '=', AsignacionId).execute();
    await tx
      .insertInto('AsignacionesRetiradas')
      .values({
        ...kept,
        PermiteBalanceoDinamico: device?.PermiteBalanceoDinamico ?? 1,
        Motivo: removal.reason.slice(0, 1_000),
        JobId: removal.jobId,
        RetiradaUtc: moment.now,
        RestauradaUtc: null,
        RestauradaPor: null,
      })
      .execute();
    await freeForBalancing(tx, EquipoId);
    const words = { action: 'RETIRAR', entity: 'Asignaciones', by: 'lanzador' };
    const id = `${RobotId}/${EquipoId}/${ProgramacionId ?? ''}`;
    await audit(tx, { ...words, id, detail: removal.reason }, moment);
    return true;
  });
}

/** How many were taken away, and not put back, since the Control Room took a deployment last. */
export async function removedInARow(db: Db): Promise<number> {
  let since = 0;
  for (const table of ['Ejecuciones', 'Ejecuciones_Historico'] as const) {
    const { last } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.max('FechaInicioUtc').as('last'))
      .where('DeploymentId', 'not like', 'local:%')
      .executeTakeFirstOrThrow();
    since = Math.max(since, Number(last ?? 0));
  }
  const { count } = await db
    .selectFrom('AsignacionesRetiradas')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('RetiradaUtc', '>', since)
    .where('RestauradaUtc', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** A device that no schedule and no reservation holds any more may be balanced again. */
export async function freeForBalancing(db: Db, deviceId: number): Promise<void> {
  const held = await db
    .selectFrom('Asignaciones')
    .select('AsignacionId')
    .where('EquipoId', '=', deviceId)
    .where((eb) => eb.or([eb('EsProgramado', '=', 1), eb('Reservado', '=', 1)]))
    .executeTakeFirst();
  if (held !== undefined) return;
  await db
    .updateTable('Equipos')
    .set({ PermiteBalanceoDinamico: 1 })
    .where('EquipoId', '=', deviceId)
    .execute();
}

/** @throws CapatazError NOT_FOUND, VALIDATION_FAILED for one that was put back already, or that nothing would run */
export async function restoreAssignment(
  db: Db,
  id: number,
  { by, ...moment }: Moment & { readonly by: string },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const found = await tx
      .selectFrom('AsignacionesRetiradas')
      .selectAll()
      .where('RetiradaId', '=', id)
      .executeTakeFirst();
    if (found === undefined)
      throw new CapatazError('NOT_FOUND', `no assignment was taken away under the number ${id}`);
    if (found.RestauradaUtc !== null)
      throw new CapatazError('VALIDATION_FAILED', `assignment ${id} was put back already`);
    const { RobotId, EquipoId, ProgramacionId, EsProgramado, Reservado } = found;
    if (ProgramacionId !== null && !(await hasSchedule(tx, ProgramacionId)))
      throw new CapatazError(
        'VALIDATION_FAILED',
        `schedule ${ProgramacionId} is gone: make a new one with this device`,
      );
    const there = await tx
      .selectFrom('Asignaciones')
      .select('AsignacionId')
      .where('RobotId', '=', RobotId)
      .where('EquipoId', '=', EquipoId)
      .where('ProgramacionId', ProgramacionId === null ? 'is' : '=', ProgramacionId)
      .executeTakeFirst();
    if (there === undefined)
      await tx
        .insertInto('Asignaciones')
        .values({
          ...{ RobotId, EquipoId, ProgramacionId, EsProgramado, Reservado },
          FechaAsignacion: localText(moment.now, moment.zone),
          AsignadoPor: by.slice(0, 50),
        })
        .execute();
    await tx
      .updateTable('AsignacionesRetiradas')
      .set({ RestauradaUtc: moment.now, RestauradaPor: by.slice(0, 50) })
      .where('RetiradaId', '=', id)
      .execute();
    await tx
      .updateTable('Equipos')
      .set({ PermiteBalanceoDinamico: found.PermiteBalanceoDinamico })
      .where('EquipoId', '=', EquipoId)
      .execute();
    const device = await tx
      .selectFrom('Equipos')
      .select('Equipo')
      .where('EquipoId', '=', EquipoId)
      .executeTakeFirst();
    // Whoever puts it back has mended what was wrong.
    if (device !== undefined) await forgetFailures(tx, { robotId: RobotId, device: device.Equipo });
    await audit(tx, { action: 'RESTAURAR', entity: 'Asignaciones', id, by }, moment);
  });
}

async function hasSchedule(db: Db, id: number): Promise<boolean> {
  const found = await db
    .selectFrom('Programaciones')
    .select('ProgramacionId')
    .where('ProgramacionId', '=', id)
    .executeTakeFirst();
  return found !== undefined;
}
