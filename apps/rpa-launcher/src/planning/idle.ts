import type { ExecutionInput } from '../execution/record.ts';
import { PlanIndex } from './candidates.ts';
import { hourText, localText } from './local-time.ts';
import { type PlanInput, pairKey } from './model.ts';
import type { Verdict } from './plan.ts';
import { cyclicWindowAt, type Schedule, slotsAt, slotsBetween } from './slots.ts';

const monthMs = 31 * 86_400_000;

/** Assignments that no plan speaks of, because nothing is due: and why nothing is. */
export function idleAssignments(input: PlanInput): Verdict[] {
  const index = new PlanIndex(input);
  return input.assignments.flatMap((one) => {
    const robot = index.robots.get(one.RobotId);
    const device = index.devices.get(one.EquipoId);
    if (robot === undefined || device === undefined) return [];
    const schedule =
      one.ProgramacionId === null ? null : (index.schedules.get(one.ProgramacionId) ?? null);
    const reason = idleReason(input, schedule, {
      isActive: robot.Activo === 1,
      isOnline: robot.EsOnline === 1,
      isScheduled: one.EsProgramado === 1,
      lastEnd: input.lastEnds.get(pairKey(robot.RobotId, device.Equipo)) ?? null,
    });
    if (reason === null) return [];
    const words: ExecutionInput = {
      ...{ robotId: robot.RobotId, robot: robot.Robot },
      ...{ deviceId: device.EquipoId, device: device.Equipo },
      origin: schedule === null ? 'online' : schedule.EsCiclico === 1 ? 'ciclica' : 'programada',
      scheduleId: one.ProgramacionId,
      hour: schedule === null ? null : hourText(schedule.HoraInicio),
      ...{ date: null, startsAt: 0, endsAt: 0, botInput: null, by: null },
    };
    return [{ jobId: null, input: words, reason }];
  });
}

interface Facts {
  readonly isActive: boolean;
  readonly isOnline: boolean;
  readonly isScheduled: boolean;
  /** Of the robot on the device. */
  readonly lastEnd: number | null;
}

function idleReason(
  { now, zone }: PlanInput,
  schedule: Schedule | null,
  { isActive, isOnline, isScheduled, lastEnd }: Facts,
): string | null {
  if (!isActive) return 'the robot is not active';
  if (!isScheduled)
    return isOnline ? null : 'the robot is not online, and the assignment has no schedule';
  if (schedule === null) return 'its schedule is gone';
  if (schedule.Activo !== 1) return 'the schedule is not active';
  if (schedule.EsCiclico === 1) {
    if (cyclicWindowAt(schedule, now, zone) === null) return 'outside its hours';
    const again = (lastEnd ?? 0) + (schedule.IntervaloEntreEjecuciones ?? 0) * 60_000;
    return again > now ? `again at ${localText(again, zone)}` : null;
  }
  if (slotsAt(schedule, now, zone).length > 0) return null;
  const [next] = slotsBetween(schedule, { after: now, until: now + monthMs, zone });
  if (next === undefined) return 'not due within a month';
  return `next at ${localText(next.startsAt, zone)}`;
}
