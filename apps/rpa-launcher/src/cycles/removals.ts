import { removeAssignment, removedInARow } from '../tables/assignments.ts';
import type { Settled } from './deploy-batches.ts';
import { type LauncherWorld, momentOf } from './world.ts';

/**
 * Takes away the assignments that a permanent 400 speaks against, but not many at once nor one by one, and none
 * where the token is in doubt: then the fault is elsewhere, and the table would be emptied (LH-7).
 */
export async function removeBadAssignments(
  world: LauncherWorld,
  results: readonly Settled[],
): Promise<void> {
  const { settings, db, alerts, log } = world;
  if (settings.badRequestPolicy === 'conservar') return;
  const bad = results.filter(
    ({ rule, deploy }) => rule?.removes && deploy.input.origin !== 'manual',
  );
  if (bad.length === 0) return;
  const isTokenSuspect = results.some(({ outcome }) => outcome.outcome === 'unauthorized');
  const isWell = results.some(({ outcome }) => outcome.outcome === 'accepted');
  const inARow = bad.length + (isWell ? 0 : await removedInARow(db));
  if (isTokenSuspect || inARow > settings.maxRemovalsPerCycle) {
    const message = isTokenSuspect
      ? 'the Control Room refuses our token, and 400 may mean that too: no assignment is taken away'
      : `${inARow} assignments would be gone in one cycle, or since the last deployment: no more is taken away, the fault seems to be elsewhere`;
    log.error(message);
    await alerts.raise({
      kind: 'deletions_stopped',
      key: 'assignments',
      message,
      facts: { asignaciones: inARow, limite: settings.maxRemovalsPerCycle },
    });
    return;
  }
  await alerts.clear('deletions_stopped', 'assignments');
  for (const { deploy, outcome } of bad) {
    const { input, device, jobId } = deploy;
    const reason = outcome.outcome === 'refused' ? `${outcome.status}: ${outcome.message}` : '';
    const row = {
      RobotId: input.robotId,
      EquipoId: device.EquipoId,
      ProgramacionId: input.scheduleId,
    };
    const removed = await removeAssignment(db, { ...row, jobId, reason }, momentOf(world));
    if (removed)
      log.error(
        `Asignación eliminada: Robot ${input.robotId} en Equipo ${device.EquipoId}; restore-assignment la repone`,
        { job: jobId, equipo: device.Equipo },
      );
  }
}
