import { CapatazError } from 'capataz';
import { hostOf } from '../execution/record.ts';
import { localText } from '../planning/local-time.ts';
import { freeForBalancing, type Moment } from './assignments.ts';
import { audit } from './audit.ts';
import { type Db, hasOutput, inTransaction } from './database.ts';
import { deviceIds } from './schedules.ts';

type By = Moment & { readonly by: string };

export interface RobotChange {
  readonly isActive?: boolean;
  readonly isOnline?: boolean;
  readonly priority?: number;
  /** JSON, which was checked; null for none. */
  readonly parameters?: string | null;
}

/**
 * @param name its number or its name
 * @throws CapatazError NOT_FOUND; VALIDATION_FAILED for a name that several have: folders of the Control Room may
 * hold files of one name
 */
export async function robotNamed(db: Db, name: string) {
  const robots = await db.selectFrom('Robots').selectAll().execute();
  const found = robots.filter(
    (one) => String(one.RobotId) === name || one.Robot.toLowerCase() === name.toLowerCase(),
  );
  const [robot, ...others] = found;
  if (robot === undefined) throw new CapatazError('NOT_FOUND', `there is no robot ${name}`);
  if (others.length === 0) return robot;
  const numbers = found.map(({ RobotId }) => RobotId).join(', ');
  throw new CapatazError('VALIDATION_FAILED', `"${name}" names several robots: ${numbers}`);
}

/** @throws CapatazError NOT_FOUND */
export async function deviceNamed(db: Db, name: string) {
  const devices = await db.selectFrom('Equipos').selectAll().execute();
  const found = devices.find(
    (one) => hostOf(one.Equipo) === hostOf(name) || String(one.EquipoId) === name,
  );
  if (found === undefined) throw new CapatazError('NOT_FOUND', `there is no device ${name}`);
  return found;
}

/** @throws CapatazError VALIDATION_FAILED: a robot with active schedules can't be online */
export async function changeRobot(
  db: Db,
  robotId: number,
  change: RobotChange,
  { by, ...moment }: By,
): Promise<void> {
  if (change.isOnline === true) {
    const schedule = await db
      .selectFrom('Programaciones')
      .select('ProgramacionId')
      .where('RobotId', '=', robotId)
      .where('Activo', '=', 1)
      .executeTakeFirst();
    if (schedule !== undefined)
      throw new CapatazError(
        'VALIDATION_FAILED',
        `schedule ${schedule.ProgramacionId} of the robot is active: it can't be online as well`,
      );
  }
  const { isActive, isOnline, priority, parameters } = change;
  await db
    .updateTable('Robots')
    .set({
      ...(isActive === undefined ? {} : { Activo: isActive ? 1 : 0 }),
      ...(isOnline === undefined ? {} : { EsOnline: isOnline ? 1 : 0 }),
      ...(priority === undefined ? {} : { PrioridadBalanceo: priority }),
      ...(parameters === undefined ? {} : { Parametros: parameters }),
    })
    .where('RobotId', '=', robotId)
    .execute();
  await db.deleteFrom('Fallos').where('RobotId', '=', robotId).execute();
  const entry = { action: 'CAMBIAR', entity: 'Robots', id: robotId, by };
  await audit(db, { ...entry, detail: JSON.stringify(change) }, moment);
}

export interface DeviceChange {
  readonly isActive?: boolean;
  /** Its name; null takes it out of its pool. A pool that there is none of is made. */
  readonly pool?: string | null;
}

export async function changeDevice(
  db: Db,
  deviceId: number,
  { isActive, pool }: DeviceChange,
  { by, ...moment }: By,
): Promise<void> {
  const poolId = pool === undefined || pool === null ? null : await poolNamed(db, pool, moment);
  await db
    .updateTable('Equipos')
    .set({
      ...(isActive === undefined ? {} : { Activo_SAM: isActive ? 1 : 0 }),
      ...(pool === undefined ? {} : { PoolId: poolId }),
    })
    .where('EquipoId', '=', deviceId)
    .execute();
  const entry = { action: 'CAMBIAR', entity: 'Equipos', id: deviceId, by };
  await audit(db, { ...entry, detail: JSON.stringify({ isActive, pool }) }, moment);
}

async function poolNamed(db: Db, name: string, { now, zone }: Moment): Promise<number> {
  const known = await db
    .selectFrom('Pools')
    .select('PoolId')
    .where('Nombre', '=', name)
    .executeTakeFirst();
  if (known !== undefined) return known.PoolId;
  const insert = db.insertInto('Pools').values({
    Nombre: name,
    Descripcion: null,
    FechaCreacion: localText(now, zone),
    FechaModificacion: null,
  });
  const made = await (hasOutput(db)
    ? insert.output('inserted.PoolId')
    : insert.returning('PoolId')
  ).executeTakeFirstOrThrow();
  return made.PoolId;
}

/**
 * AsignarRobotOnline: devices that have the robot in any way are left as they are.
 * @returns how many were assigned @throws CapatazError NOT_FOUND
 */
export async function assignDevices(
  db: Db,
  robotId: number,
  {
    devices,
    isReserved,
    by,
    ...moment
  }: By & { readonly devices: readonly string[]; readonly isReserved: boolean },
): Promise<number> {
  return inTransaction(db, async (tx) => {
    let count = 0;
    for (const EquipoId of await deviceIds(tx, devices)) {
      const there = await tx
        .selectFrom('Asignaciones')
        .select('AsignacionId')
        .where('RobotId', '=', robotId)
        .where('EquipoId', '=', EquipoId)
        .executeTakeFirst();
      if (there !== undefined) continue;
      await tx
        .insertInto('Asignaciones')
        .values({
          ...{ RobotId: robotId, EquipoId, ProgramacionId: null },
          ...{ EsProgramado: 0, Reservado: isReserved ? 1 : 0 },
          FechaAsignacion: localText(moment.now, moment.zone),
          AsignadoPor: by.slice(0, 50),
        })
        .execute();
      count += 1;
    }
    const entry = { action: 'ASIGNAR', entity: 'Robots', id: robotId, by };
    await audit(tx, { ...entry, detail: devices.join(',') }, moment);
    return count;
  });
}

/** Assignments of no schedule. @returns how many were taken away */
export async function unassignDevices(
  db: Db,
  robotId: number,
  { devices, by, ...moment }: By & { readonly devices: readonly string[] },
): Promise<number> {
  return inTransaction(db, async (tx) => {
    const ids = await deviceIds(tx, devices);
    const { numDeletedRows } = await tx
      .deleteFrom('Asignaciones')
      .where('RobotId', '=', robotId)
      .where('EquipoId', 'in', ids)
      .where('ProgramacionId', 'is', null)
      .executeTakeFirstOrThrow();
    for (const id of ids) await freeForBalancing(tx, id);
    const entry = { action: 'DESASIGNAR', entity: 'Robots', id: robotId, by };
    await audit(tx, { ...entry, detail: devices.join(',') }, moment);
    return Number(numDeletedRows);
  });
}

/** Host names of a pool's devices. @throws CapatazError NOT_FOUND */
export async function devicesOfPool(db: Db, name: string): Promise<string[]> {
  const rows = await db
    .selectFrom('Pools as p')
    .innerJoin('Equipos as e', 'e.PoolId', 'p.PoolId')
    .select('e.Equipo')
    .where('p.Nombre', '=', name)
    .execute();
  if (rows.length === 0)
    throw new CapatazError('NOT_FOUND', `there is no device in pool "${name}"`);
  return rows.map(({ Equipo }) => Equipo);
}
