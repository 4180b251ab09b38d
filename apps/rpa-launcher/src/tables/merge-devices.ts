import type { Selectable } from 'kysely';
import type { Runner } from '../control-room/runners.ts';
import { hostOf } from '../execution/record.ts';
import { type Db, inTransaction } from './database.ts';
import type { MergeCounts } from './merge-robots.ts';
import type { EquipoRow } from './schema.ts';

type Row = Selectable<EquipoRow>;

export interface DeviceChanges {
  /** Devices that come back under another id. */
  readonly renewed: readonly (readonly [old: Row, now: Runner])[];
  /** Known ones that are not in the list. */
  readonly missing: readonly Row[];
}

/** What a list of devices would change of the rows there are. */
export function deviceChanges(rows: readonly Row[], runners: readonly Runner[]): DeviceChanges {
  const byHost = new Map(runners.map((one) => [hostOf(one.hostName), one]));
  const ids = new Set(runners.map(({ deviceId }) => deviceId));
  const renewed: [Row, Runner][] = [];
  const missing: Row[] = [];
  for (const row of rows) {
    const now = byHost.get(hostOf(row.Equipo));
    if (now === undefined) {
      if (!ids.has(row.EquipoId)) missing.push(row);
    } else if (now.deviceId !== row.EquipoId) renewed.push([row, now]);
  }
  return { renewed, missing };
}

const aside = (id: number): number => -1 - id;

/**
 * MergeEquipos: a host that comes back under another id takes its settings, assignments and executions
 * with it (L-9, L-10), also where two hosts have swapped their ids. A host that is missing too often counts
 * as disconnected; the operator's switch Activo_SAM is nobody else's.
 */
export async function mergeDevices(
  db: Db,
  runners: readonly Runner[],
  { absencesAllowed }: { readonly absencesAllowed: number },
): Promise<MergeCounts & { readonly absent: number }> {
  return inTransaction(db, async (tx) => {
    const rows = await tx.selectFrom('Equipos').selectAll().execute();
    const { renewed, missing } = deviceChanges(rows, runners);
    // All step aside before any takes its place: ids may go round in a circle.
    for (const [old] of renewed) await pointTo(tx, old.EquipoId, aside(old.EquipoId));
    for (const [old] of renewed)
      await tx.deleteFrom('Equipos').where('EquipoId', '=', old.EquipoId).execute();
    const settings = new Map(renewed.map(([old, now]) => [now.deviceId, old]));
    const stale = new Set(renewed.map(([old]) => old.EquipoId));
    const known = new Map(
      rows.filter(({ EquipoId }) => !stale.has(EquipoId)).map((row) => [row.EquipoId, row]),
    );
    let added = 0;
    let changed = 0;
    for (const runner of runners) {
      const row = known.get(runner.deviceId);
      const words = wordsOf(runner);
      const before = settings.get(runner.deviceId);
      if (row === undefined) {
        await tx
          .insertInto('Equipos')
          .values({ EquipoId: runner.deviceId, ...words, ...kept(before) })
          .execute();
        added += 1;
      } else if (before !== undefined || differs(row, words)) {
        // The id may have been that of a host which is gone: what is set for this one counts.
        await tx
          .updateTable('Equipos')
          .set(before === undefined ? words : { ...words, ...kept(before) })
          .where('EquipoId', '=', runner.deviceId)
          .execute();
        changed += 1;
      }
    }
    for (const [old, now] of renewed) await pointTo(tx, aside(old.EquipoId), now.deviceId);
    const absent = await countAbsences(tx, missing, absencesAllowed);
    return { added, changed, absent };
  });
}

function wordsOf({ hostName, userId, userName, license, isConnected }: Runner) {
  return {
    Equipo: hostName.slice(0, 100),
    UserId: userId,
    UserName: userName.slice(0, 50),
    Licencia: license.slice(0, 200),
    EstadoA360: isConnected ? 'CONNECTED' : 'DISCONNECTED',
    Conectado: isConnected ? 1 : 0,
    Ausencias: 0,
  };
}

function differs(row: Row, words: ReturnType<typeof wordsOf>): boolean {
  const known: Readonly<Record<string, unknown>> = row;
  return Object.entries(words).some(([column, value]) => known[column] !== value);
}

function kept(old: Row | undefined) {
  if (old === undefined) return { PoolId: null, EstadoBalanceador: null };
  const { Activo_SAM, PoolId, PermiteBalanceoDinamico, EstadoBalanceador } = old;
  return { Activo_SAM, PoolId, PermiteBalanceoDinamico, EstadoBalanceador };
}

async function pointTo(db: Db, from: number, to: number): Promise<void> {
  await db.updateTable('Ejecuciones').set({ EquipoId: to }).where('EquipoId', '=', from).execute();
  await db
    .updateTable('Ejecuciones_Historico')
    .set({ EquipoId: to })
    .where('EquipoId', '=', from)
    .execute();
  await db
    .updateTable('AsignacionesRetiradas')
    .set({ EquipoId: to })
    .where('EquipoId', '=', from)
    .execute();
  const assigned = await db
    .selectFrom('Asignaciones')
    .select(['RobotId', 'ProgramacionId'])
    .where('EquipoId', '=', to)
    .execute();
  // What the new id has already would be there twice.
  for (const { RobotId, ProgramacionId } of assigned)
    await db
      .deleteFrom('Asignaciones')
      .where('EquipoId', '=', from)
      .where('RobotId', '=', RobotId)
      .where('ProgramacionId', ProgramacionId === null ? 'is' : '=', ProgramacionId)
      .execute();
  await db.updateTable('Asignaciones').set({ EquipoId: to }).where('EquipoId', '=', from).execute();
}

async function countAbsences(db: Db, missing: readonly Row[], allowed: number): Promise<number> {
  let absent = 0;
  for (const { EquipoId, Ausencias } of missing) {
    const isAbsent = Ausencias + 1 >= allowed;
    if (isAbsent) absent += 1;
    const state = isAbsent ? { Conectado: 0, EstadoA360: 'AUSENTE' } : {};
    await db
      .updateTable('Equipos')
      .set({ Ausencias: Math.min(Ausencias + 1, allowed), ...state })
      .where('EquipoId', '=', EquipoId)
      .execute();
  }
  return absent;
}
