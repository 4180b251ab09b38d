import type { Insertable } from 'kysely';
import type { JobView } from '../cycles/executions.ts';
import { executionInput, recordOf } from '../execution/record.ts';
import { localText } from '../planning/local-time.ts';
import { type Db, inTransaction, isAboutData } from './database.ts';
import type { EjecucionRow } from './schema.ts';

type Row = Insertable<EjecucionRow>;

/** What the table shows of a job, or null before it is deployed (S-55). */
export function executionRow(job: JobView, zone: string, now: number): Row | null {
  const input = executionInput.parse(job.input);
  const record = recordOf(job);
  const isFailedDeploy = job.state === 'DEPLOY_FAILED';
  if (record.deployedAt === null && !isFailedDeploy) return null;
  const begun = record.deployedAt ?? record.orderedAt ?? Date.parse(job.created_at);
  const ended = job.ended_at === null ? null : (record.endedAt ?? Date.parse(job.ended_at));
  const local = (at: number | null): string | null => (at === null ? null : localText(at, zone));
  return {
    DeploymentId: (record.deploymentId ?? `local:${job.id}`).slice(0, 50),
    RobotId: input.robotId,
    EquipoId: record.deviceId ?? input.deviceId,
    UserId: record.userId ?? 0,
    Hora: input.hour,
    FechaInicio: localText(begun, zone),
    FechaFin: local(ended),
    Estado: job.state,
    FechaActualizacion: localText(now, zone),
    CallbackInfo: record.callback?.body ?? null,
    IntentosConciliadorFallidos: record.misses,
    FechaUltimoUNKNOWN: local(record.lastUnknownAt),
    FechaPrimerUNKNOWN: local(record.firstUnknownAt),
    FechaInicioReal: local(record.startedAt),
    JobId: job.id,
    Origen: input.origin,
    ProgramacionId: input.scheduleId,
    FechaTeorica: input.date,
    Motivo: record.reason?.slice(0, 1_000) ?? job.error?.message.slice(0, 1_000) ?? null,
    InicioEnPausa: record.startedInPause ? 1 : 0,
    FechaInicioUtc: begun,
    FechaFinUtc: ended,
    FechaUltimoUnknownUtc: record.lastUnknownAt,
    FechaInicioRealUtc: record.startedAt,
  };
}

/** How far the book of the jobs was read, beside the rows that were made from it. */
const positionName = 'proyeccion';

export async function projectionPosition(db: Db): Promise<number> {
  const row = await db
    .selectFrom('Posiciones')
    .select('Posicion')
    .where('Nombre', '=', positionName)
    .executeTakeFirst();
  return row?.Posicion ?? 0;
}

/** Those of these deployments that are an execution's already. */
export async function knownDeployments(db: Db, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await Promise.all(
    (['Ejecuciones', 'Ejecuciones_Historico'] as const).map((table) =>
      db.selectFrom(table).select('DeploymentId').where('DeploymentId', 'in', ids).execute(),
    ),
  );
  return new Set(rows.flat().map(({ DeploymentId }) => DeploymentId));
}

export interface Unfit {
  readonly row: Row;
  readonly error: unknown;
}

/**
 * Rows and position in one transaction. Rows that the table does not take, as ids that are there already, are
 * left out: nothing would ever be stored behind them.
 * @returns those
 */
export async function storeProjection(
  db: Db,
  rows: readonly Row[],
  position: number,
): Promise<readonly Unfit[]> {
  try {
    await storeAll(db, rows, position);
    return [];
  } catch (error) {
    if (!isAboutData(error)) throw error;
  }
  const unfit: Unfit[] = [];
  for (const row of rows) {
    try {
      await inTransaction(db, (tx) => putRow(tx, row));
    } catch (error) {
      if (!isAboutData(error)) throw error;
      unfit.push({ row, error });
    }
  }
  await storeAll(db, [], position);
  return unfit;
}

async function storeAll(db: Db, rows: readonly Row[], position: number): Promise<void> {
  await inTransaction(db, async (tx) => {
    for (const row of rows) await putRow(tx, row);
    const { numUpdatedRows } = await tx
      .updateTable('Posiciones')
      .set({ Posicion: position })
      .where('Nombre', '=', positionName)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) return;
    await tx
      .insertInto('Posiciones')
      .values({ Nombre: positionName, Posicion: position })
      .execute();
  });
}

/** A row that went into the history stays there: its job's later words change nothing. */
async function putRow(db: Db, row: Row): Promise<void> {
  // A synchronisation may have pointed it to the device's new id (L-10).
  const { EquipoId: _, ...changes } = row;
  const { numUpdatedRows } = await db
    .updateTable('Ejecuciones')
    .set(changes)
    .where('JobId', '=', row.JobId)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return;
  const past = await db
    .selectFrom('Ejecuciones_Historico')
    .select('HistoricoId')
    .where('JobId', '=', row.JobId)
    .executeTakeFirst();
  if (past === undefined) await db.insertInto('Ejecuciones').values(row).execute();
}

const batch = 200;

/** Moves what ended a while ago into the history, and forgets what is old there, callbacks too. */
export async function tidyExecutions(
  db: Db,
  { now, moveAfterMs, keepMs }: { now: number; moveAfterMs: number; keepMs: number },
): Promise<number> {
  const ended = await db
    .selectFrom('Ejecuciones')
    .select('EjecucionId')
    .where('FechaFinUtc', '<', now - moveAfterMs)
    .orderBy('FechaFinUtc')
    .execute();
  const ids = ended.map(({ EjecucionId }) => EjecucionId);
  for (let at = 0; at < ids.length; at += batch) await moveSome(db, ids.slice(at, at + batch));
  await db
    .deleteFrom('Ejecuciones_Historico')
    .where('FechaFinUtc', '<', now - keepMs)
    .execute();
  // They are evidence for these rows, and may be long.
  await db
    .deleteFrom('Callbacks')
    .where('RecibidoUtc', '<', now - moveAfterMs - keepMs)
    .execute();
  return ids.length;
}

async function moveSome(db: Db, ids: readonly number[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    const rows = await tx
      .selectFrom('Ejecuciones')
      .selectAll()
      .where('EjecucionId', 'in', ids)
      .execute();
    for (const row of rows) await tx.insertInto('Ejecuciones_Historico').values(row).execute();
    await tx.deleteFrom('Ejecuciones').where('EjecucionId', 'in', ids).execute();
  });
}
