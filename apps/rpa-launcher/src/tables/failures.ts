import { hostOf } from '../execution/record.ts';
import type { Db } from './database.ts';

const firstPauseMs = 30_000;
const longestPauseMs = 1_800_000;

/** A robot that fails on a device for a lasting reason is tried there less and less often (LH-18). */
export async function addFailure(
  db: Db,
  where: { readonly robotId: number; readonly device: string },
  { now, reason, atLeastMs = 0 }: { now: number; reason: string; atLeastMs?: number },
): Promise<void> {
  const row = { RobotId: where.robotId, Equipo: hostOf(where.device) };
  const known = await db
    .selectFrom('Fallos')
    .select('Consecutivos')
    .where('RobotId', '=', row.RobotId)
    .where('Equipo', '=', row.Equipo)
    .executeTakeFirst();
  const count = (known?.Consecutivos ?? 0) + 1;
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(count - 1, 20));
  const values = {
    Consecutivos: count,
    ProximoUtc: now + Math.max(pauseMs, atLeastMs),
    Motivo: reason.slice(0, 1_000),
  };
  if (known === undefined)
    await db
      .insertInto('Fallos')
      .values({ ...row, ...values })
      .execute();
  else
    await db
      .updateTable('Fallos')
      .set(values)
      .where('RobotId', '=', row.RobotId)
      .where('Equipo', '=', row.Equipo)
      .execute();
}

export async function forgetFailures(
  db: Db,
  { robotId, device }: { readonly robotId: number; readonly device: string },
): Promise<void> {
  await db
    .deleteFrom('Fallos')
    .where('RobotId', '=', robotId)
    .where('Equipo', '=', hostOf(device))
    .execute();
}
