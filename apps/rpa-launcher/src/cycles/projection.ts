import type { FeedOptions } from 'capataz/server';
import { executionInput, recordOf } from '../execution/record.ts';
import { executionRow, projectionPosition, storeProjection } from '../tables/projection.ts';
import type { JobView } from './executions.ts';
import type { LauncherWorld } from './world.ts';

/**
 * Ejecuciones follows the jobs: those that the book speaks of are looked up, and stored with the position.
 * A slot that nobody deployed has no row there, and is told (LH-6, S-92).
 */
export function projection(world: LauncherWorld): FeedOptions {
  const { db, executions, settings, clock, log } = world;
  return {
    name: 'ejecuciones',
    position: () => projectionPosition(db),
    apply: async (events, position) => {
      const ids = [...new Set(events.map(({ jobId }) => jobId))];
      const found = await Promise.all(ids.map((id) => executions.get(id)));
      const jobs = found.filter((job) => job !== null);
      const rows = jobs.flatMap((job) => executionRow(job, settings.zone, clock.now()) ?? []);
      for (const { row, error } of await storeProjection(db, rows, position))
        log.error('an execution cannot be shown in Ejecuciones', { job: row.JobId, error });
      for (const job of jobs) if (job.state === 'OMITIDA') await tellLeftOut(world, job);
    },
  };
}

async function tellLeftOut({ alerts }: LauncherWorld, job: JobView): Promise<void> {
  const { origin, robot, device, date, hour } = executionInput.parse(job.input);
  if (origin !== 'programada') return;
  const { reason } = recordOf(job);
  await alerts.raise({
    kind: 'slot_skipped',
    key: job.id,
    message: `${robot} did not run on ${device} at ${hour} of ${date}: ${reason ?? 'nobody has deployed it in its window'}`,
    facts: { robot, equipo: device, fecha: date, hora: hour, motivo: reason, trabajo: job.id },
  });
}
