import type { RobotFile } from '../control-room/contract.ts';
import { type Db, inTransaction } from './database.ts';

export interface MergeCounts {
  readonly added: number;
  readonly changed: number;
}

/**
 * MergeRobots: name and description come from the Control Room, everything else is ours. One that is there
 * no more stays: its schedules and its past do.
 */
export async function mergeRobots(db: Db, robots: readonly RobotFile[]): Promise<MergeCounts> {
  return inTransaction(db, async (tx) => {
    const rows = await tx
      .selectFrom('Robots')
      .select(['RobotId', 'Robot', 'Descripcion'])
      .execute();
    const known = new Map(rows.map((row) => [row.RobotId, row]));
    let added = 0;
    let changed = 0;
    for (const { robotId, name, description } of robots) {
      const row = known.get(robotId);
      const words = {
        Robot: name.slice(0, 100),
        Descripcion: description?.slice(0, 4_000) ?? null,
      };
      if (row === undefined) {
        await tx
          .insertInto('Robots')
          .values({ RobotId: robotId, ...words, Parametros: null, PoolId: null })
          .execute();
        added += 1;
      } else if (row.Robot !== words.Robot || row.Descripcion !== words.Descripcion) {
        await tx.updateTable('Robots').set(words).where('RobotId', '=', robotId).execute();
        changed += 1;
      }
    }
    return { added, changed };
  });
}
