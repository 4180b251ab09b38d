import { CapatazError } from 'capataz';
import { hostOf } from '../execution/record.ts';
import { hourText, localText, secondsOfDay } from '../planning/local-time.ts';
import { overlaps } from '../planning/overlap.ts';
import { daysOf, dayWords, type Schedule, weekdayOf } from '../planning/slots.ts';
import { freeForBalancing, type Moment } from './assignments.ts';
import { audit } from './audit.ts';
import { type Db, hasOutput, inTransaction } from './database.ts';

export const scheduleTypes = [
  'Diaria',
  'Semanal',
  'Mensual',
  'Especifica',
  'RangoMensual',
] as const;

export type NewSchedule = Omit<Schedule, 'ProgramacionId' | 'Activo'>;

export interface ScheduleWish {
  readonly schedule: NewSchedule;
  /** Host names. */
  readonly devices: readonly string[];
  /** Default true. */
  readonly isActive?: boolean;
  readonly by: string;
}

/** @returns everything that is wrong, by column */
export function scheduleProblems(one: NewSchedule): string[] {
  const problems: string[] = [];
  const say = (column: string, problem: string) => problems.push(`${column}: ${problem}`);
  const isTime = (text: string | null): boolean => text !== null && secondsOfDay(text) !== null;
  if (!isTime(one.HoraInicio)) say('HoraInicio', `"${one.HoraInicio}" is no time like 08:30`);
  if (!scheduleTypes.some((type) => type === one.TipoProgramacion))
    say('TipoProgramacion', `"${one.TipoProgramacion}" is none of ${scheduleTypes.join(', ')}`);
  const { Tolerancia } = one;
  if (Tolerancia !== null && (Tolerancia < 0 || Tolerancia > 1_440))
    say('Tolerancia', `${Tolerancia} is not between 0 and 1440 minutes`);
  if (one.TipoProgramacion === 'Semanal') {
    const unknown = dayWords(one.DiasSemana).filter((word) => weekdayOf(word) === null);
    if (unknown.length > 0)
      say('DiasSemana', `"${unknown.join(',')}" is no day; write them like Lu,Mi,Vi`);
    else if (daysOf(one.DiasSemana).length === 0)
      say('DiasSemana', 'names no day; write them like Lu,Mi,Vi');
  }
  if (one.TipoProgramacion === 'Mensual' && !isDay(one.DiaDelMes))
    say('DiaDelMes', 'must be a day from 1 to 31');
  if (one.TipoProgramacion === 'Especifica' && !isDate(one.FechaEspecifica))
    say('FechaEspecifica', 'must be a date like 2026-03-31');
  if (one.TipoProgramacion === 'RangoMensual' && !hasRange(one))
    say('DiaInicioMes', 'needs DiaFinMes behind it, or UltimosDiasMes in place of both');
  const { FechaInicioVentana: first, FechaFinVentana: last } = one;
  for (const column of ['FechaInicioVentana', 'FechaFinVentana'] as const)
    if (one[column] !== null && !isDate(one[column])) say(column, 'must be a date like 2026-03-31');
  if (first !== null && last !== null && last < first)
    say('FechaFinVentana', 'is before FechaInicioVentana');
  if (one.EsCiclico !== 1) {
    for (const column of ['HoraFin', 'IntervaloEntreEjecuciones'] as const)
      if (one[column] !== null) say(column, 'only a cyclic schedule has one');
  } else {
    if (one.HoraFin !== null && !isTime(one.HoraFin)) say('HoraFin', `"${one.HoraFin}" is no time`);
    if (one.HoraFin === one.HoraInicio) say('HoraFin', 'is HoraInicio: leave it out for all day');
    const interval = one.IntervaloEntreEjecuciones;
    if (interval !== null && interval < 1)
      say('IntervaloEntreEjecuciones', 'is less than 1 minute');
  }
  return problems;
}

/** `Date.parse` takes the 30th of February for a day of March. */
function isDate(text: string | null): boolean {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

function isDay(day: number | null): boolean {
  return day !== null && Number.isInteger(day) && day >= 1 && day <= 31;
}

function hasRange({ DiaInicioMes, DiaFinMes, UltimosDiasMes }: NewSchedule): boolean {
  if (UltimosDiasMes !== null) return isDay(UltimosDiasMes);
  return isDay(DiaInicioMes) && isDay(DiaFinMes) && Number(DiaInicioMes) <= Number(DiaFinMes);
}

/**
 * CargarProgramacionDiaria, and the same for every other kind: the schedule with its devices. Its robot is
 * online no more, and its devices are not balanced (L-68).
 * @returns its number
 * @throws CapatazError VALIDATION_FAILED, NOT_FOUND with everything that is wrong
 */
export async function createSchedule(db: Db, wish: ScheduleWish, moment: Moment): Promise<number> {
  const { schedule, devices, isActive = true, by } = wish;
  const problems = scheduleProblems(schedule);
  if (devices.length === 0) problems.push('devices: there is none');
  if (problems.length > 0)
    throw new CapatazError('VALIDATION_FAILED', problems.join('\n'), { problems });
  return inTransaction(db, async (tx) => {
    const robot = await tx
      .selectFrom('Robots')
      .select('RobotId')
      .where('RobotId', '=', schedule.RobotId)
      .executeTakeFirst();
    if (robot === undefined)
      throw new CapatazError('NOT_FOUND', `there is no robot ${schedule.RobotId}`);
    const ids = await deviceIds(tx, devices);
    if (isActive) await refuseOverlaps(tx, schedule, ids);
    const now = localText(moment.now, moment.zone);
    const insert = tx.insertInto('Programaciones').values({
      ...schedule,
      Activo: isActive ? 1 : 0,
      FechaCreacion: now,
      FechaModificacion: now,
    });
    const { ProgramacionId } = await (hasOutput(tx)
      ? insert.output('inserted.ProgramacionId')
      : insert.returning('ProgramacionId')
    ).executeTakeFirstOrThrow();
    for (const EquipoId of ids)
      await tx
        .insertInto('Asignaciones')
        .values({
          ...{ RobotId: schedule.RobotId, EquipoId, ProgramacionId, EsProgramado: 1 },
          ...{ FechaAsignacion: now, AsignadoPor: by.slice(0, 50) },
        })
        .execute();
    if (isActive) await endOnlineMode(tx, schedule.RobotId);
    await tx
      .updateTable('Equipos')
      .set({ PermiteBalanceoDinamico: 0 })
      .where('EquipoId', 'in', ids)
      .execute();
    const entry = { action: 'CREAR', entity: 'Programaciones', id: ProgramacionId, by };
    await audit(tx, { ...entry, detail: JSON.stringify({ ...schedule, devices }) }, moment);
    return ProgramacionId;
  });
}

async function endOnlineMode(db: Db, robotId: number): Promise<void> {
  await db.updateTable('Robots').set({ EsOnline: 0 }).where('RobotId', '=', robotId).execute();
}

/** @throws CapatazError NOT_FOUND that names every host that is unknown */
export async function deviceIds(db: Db, hosts: readonly string[]): Promise<number[]> {
  const rows = await db.selectFrom('Equipos').select(['EquipoId', 'Equipo']).execute();
  const known = new Map(rows.map((row) => [hostOf(row.Equipo), row.EquipoId]));
  const unknown = hosts.filter((host) => !known.has(hostOf(host)));
  if (unknown.length > 0)
    throw new CapatazError('NOT_FOUND', `there is no device ${unknown.join(', ')}`);
  return [...new Set(hosts.flatMap((host) => known.get(hostOf(host)) ?? []))];
}

async function refuseOverlaps(
  db: Db,
  schedule: NewSchedule & { readonly ProgramacionId?: number },
  ids: readonly number[],
): Promise<void> {
  const rows = await db
    .selectFrom('Programaciones as p')
    .innerJoin('Asignaciones as a', 'a.ProgramacionId', 'p.ProgramacionId')
    .innerJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
    .innerJoin('Robots as r', 'r.RobotId', 'p.RobotId')
    .selectAll('p')
    .select(['e.Equipo', 'r.Robot'])
    .where('a.EquipoId', 'in', ids)
    .where('p.Activo', '=', 1)
    .execute();
  const own = { ProgramacionId: 0, ...schedule, Activo: 1 };
  const conflicts = rows
    .filter((other) => other.ProgramacionId !== own.ProgramacionId && overlaps(own, other))
    .map(
      (one) =>
        `${one.Equipo}: schedule ${one.ProgramacionId} of ${one.Robot} at ${hourText(one.HoraInicio)}`,
    );
  if (conflicts.length === 0) return;
  const message = `its window overlaps others on the same device:\n${conflicts.join('\n')}`;
  throw new CapatazError('VALIDATION_FAILED', message, { conflicts });
}

/**
 * One that becomes active finds its devices and its robot as a new one would.
 * @throws CapatazError NOT_FOUND, VALIDATION_FAILED for windows that overlap
 */
export async function switchSchedule(
  db: Db,
  id: number,
  { isActive, by, ...moment }: Moment & { readonly isActive: boolean; readonly by: string },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const schedule = await tx
      .selectFrom('Programaciones')
      .selectAll()
      .where('ProgramacionId', '=', id)
      .executeTakeFirst();
    if (schedule === undefined) throw new CapatazError('NOT_FOUND', `there is no schedule ${id}`);
    if (isActive) {
      const devices = await tx
        .selectFrom('Asignaciones')
        .select('EquipoId')
        .where('ProgramacionId', '=', id)
        .execute();
      await refuseOverlaps(
        tx,
        schedule,
        devices.map(({ EquipoId }) => EquipoId),
      );
      await endOnlineMode(tx, schedule.RobotId);
    }
    await tx
      .updateTable('Programaciones')
      .set({ Activo: isActive ? 1 : 0, FechaModificacion: localText(moment.now, moment.zone) })
      .where('ProgramacionId', '=', id)
      .execute();
    const action = isActive ? 'ACTIVAR' : 'DESACTIVAR';
    await audit(tx, { action, entity: 'Programaciones', id, by }, moment);
  });
}

/** Host names by the number of their schedule, each in order. */
export async function devicesOfSchedules(db: Db): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await db
    .selectFrom('Asignaciones as a')
    .innerJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
    .select(['a.ProgramacionId', 'e.Equipo'])
    .where('a.ProgramacionId', 'is not', null)
    .orderBy('e.Equipo')
    .execute();
  const hosts = new Map<number, string[]>();
  for (const { ProgramacionId, Equipo } of rows) {
    if (ProgramacionId === null) continue;
    hosts.set(ProgramacionId, [...(hosts.get(ProgramacionId) ?? []), Equipo]);
  }
  return hosts;
}

/** EliminarProgramacionCompleta: with its assignments, except reserved ones. @throws CapatazError NOT_FOUND */
export async function removeSchedule(
  db: Db,
  id: number,
  { by, ...moment }: Moment & { readonly by: string },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const held = await tx
      .selectFrom('Asignaciones')
      .select('EquipoId')
      .where('ProgramacionId', '=', id)
      .execute();
    await tx
      .deleteFrom('Asignaciones')
      .where('ProgramacionId', '=', id)
      .where('Reservado', '=', 0)
      .execute();
    const { numDeletedRows } = await tx
      .deleteFrom('Programaciones')
      .where('ProgramacionId', '=', id)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw new CapatazError('NOT_FOUND', `there is no schedule ${id}`);
    for (const { EquipoId } of held) await freeForBalancing(tx, EquipoId);
    await audit(tx, { action: 'ELIMINAR', entity: 'Programaciones', id, by }, moment);
  });
}
