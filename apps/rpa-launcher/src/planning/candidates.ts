import { type ExecutionInput, hostOf } from '../execution/record.ts';
import { hourText } from './local-time.ts';
import {
  type Assignment,
  type Device,
  executedKey,
  type OpenExecution,
  type PlanInput,
  pairKey,
  type Robot,
  slotKey,
} from './model.ts';
import {
  cyclicWindowAt,
  type Schedule,
  type ScheduleSlot,
  slotsAt,
  slotsBetween,
} from './slots.ts';

/** Something that could be deployed now, if its device were free and nothing else spoke against it. */
export interface Candidate {
  /** Null: its job is still to be started. */
  readonly jobId: string | null;
  readonly input: ExecutionInput;
  readonly attempt: number;
  readonly priority: number;
  /** Why it can't be deployed at all, as long as the tables are as they are. */
  readonly problem: string | null;
}

/** The same for all: what every look at the tables needs. */
export class PlanIndex {
  readonly robots: ReadonlyMap<number, Robot>;
  readonly devices: ReadonlyMap<number, Device>;
  readonly byHost: ReadonlyMap<string, Device>;
  readonly schedules: ReadonlyMap<number, Schedule>;
  readonly #bySchedule = new Map<number, Assignment[]>();
  readonly online: readonly Assignment[];
  readonly #kept = new Set<string>();

  constructor({ robots, devices, schedules, assignments }: PlanInput) {
    this.robots = new Map(robots.map((robot) => [robot.RobotId, robot]));
    this.devices = new Map(devices.map((device) => [device.EquipoId, device]));
    this.byHost = new Map(devices.map((device) => [hostOf(device.Equipo), device]));
    this.schedules = new Map(schedules.map((one) => [one.ProgramacionId, one]));
    const online: Assignment[] = [];
    for (const one of assignments) {
      const { RobotId, EquipoId, ProgramacionId, EsProgramado } = one;
      this.#kept.add(`${RobotId}/${EquipoId}/${EsProgramado === 1 ? ProgramacionId : 'online'}`);
      if (EsProgramado !== 1) online.push(one);
      else if (ProgramacionId !== null) {
        const list = this.#bySchedule.get(ProgramacionId);
        if (list === undefined) this.#bySchedule.set(ProgramacionId, [one]);
        else list.push(one);
      }
    }
    this.online = online;
  }

  assignmentsOf(schedule: Schedule): readonly Assignment[] {
    const all = this.#bySchedule.get(schedule.ProgramacionId) ?? [];
    return all.filter(({ RobotId }) => RobotId === schedule.RobotId);
  }

  isAssigned(robotId: number, deviceId: number, scheduleId: number | null): boolean {
    return this.#kept.has(`${robotId}/${deviceId}/${scheduleId ?? 'online'}`);
  }
}

interface Found {
  readonly robot: Robot;
  readonly device: Device;
  readonly schedule: Schedule | null;
}

/** Pairs of an active schedule, its active robot and each of its devices. */
function* scheduled(
  index: PlanIndex,
  isCyclic: boolean,
): Generator<Found & { schedule: Schedule }> {
  for (const schedule of index.schedules.values()) {
    if (schedule.Activo !== 1 || (schedule.EsCiclico === 1) !== isCyclic) continue;
    const robot = index.robots.get(schedule.RobotId);
    if (robot === undefined || robot.Activo !== 1) continue;
    for (const { EquipoId } of index.assignmentsOf(schedule)) {
      const device = index.devices.get(EquipoId);
      if (device !== undefined) yield { robot, device, schedule };
    }
  }
}

function inputOf(
  { robot, device, schedule }: Found,
  origin: ExecutionInput['origin'],
  { date, startsAt, endsAt }: Pick<ScheduleSlot, 'startsAt' | 'endsAt'> & { date: string | null },
): ExecutionInput {
  return {
    origin,
    robotId: robot.RobotId,
    robot: robot.Robot,
    deviceId: device.EquipoId,
    device: device.Equipo,
    scheduleId: schedule?.ProgramacionId ?? null,
    date,
    hour: schedule === null ? null : hourText(schedule.HoraInicio),
    ...{ startsAt, endsAt, botInput: null, by: null },
  };
}

/** Slots whose window now lies in and that no job was started for. */
export function dueSlots(input: PlanInput, index: PlanIndex): ExecutionInput[] {
  const known = new Set(input.open.map((one) => slotKey(one.input)));
  const due: ExecutionInput[] = [];
  for (const found of scheduled(index, false)) {
    for (const slot of slotsAt(found.schedule, input.now, input.zone)) {
      const words = inputOf(found, 'programada', slot);
      const key = slotKey(words);
      if (known.has(key) || input.started.has(key) || isExecuted(input, words)) continue;
      known.add(key);
      due.push(words);
    }
  }
  return due;
}

function isExecuted({ executed }: PlanInput, words: ExecutionInput): boolean {
  return executed.has(executedKey(words.robotId, words.deviceId, words));
}

/** Slots whose whole window went by while nobody looked: they get a job that says so. */
export function missedSlots(
  input: PlanInput,
  index: PlanIndex,
  { after, limit }: { readonly after: number; readonly limit: number },
): ExecutionInput[] {
  const missed: ExecutionInput[] = [];
  const { now: until, zone } = input;
  for (const found of scheduled(index, false)) {
    for (const slot of slotsBetween(found.schedule, { after, until, zone })) {
      const words = inputOf(found, 'programada', slot);
      if (slot.endsAt < until && !isExecuted(input, words)) missed.push(words);
    }
  }
  return missed.sort((a, b) => a.startsAt - b.startsAt).slice(-limit);
}

/** A job of a robot that runs again and again, and was not deployed, is worth nothing much later. */
const repeatedForMs = 3_600_000;

/** Robots that run again as soon as their device is free: cyclic schedules, then online robots. */
function* repeated(input: PlanInput, index: PlanIndex): Generator<ExecutionInput> {
  const { now, zone, lastEnds } = input;
  for (const found of scheduled(index, true)) {
    const window = cyclicWindowAt(found.schedule, now, zone);
    if (window === null) continue;
    const intervalMs = (found.schedule.IntervaloEntreEjecuciones ?? 0) * 60_000;
    const lastEnd = lastEnds.get(pairKey(found.robot.RobotId, found.device.Equipo));
    if (lastEnd !== undefined && now - lastEnd < intervalMs) continue;
    const endsAt = Math.min(window.endsAt, now + repeatedForMs);
    yield inputOf(found, 'ciclica', { date: window.date, startsAt: now, endsAt });
  }
  for (const { RobotId, EquipoId } of index.online) {
    const robot = index.robots.get(RobotId);
    const device = index.devices.get(EquipoId);
    if (robot === undefined || device === undefined) continue;
    if (robot.Activo !== 1 || robot.EsOnline !== 1) continue;
    const words = { robot, device, schedule: null };
    yield inputOf(words, 'online', { date: null, startsAt: now, endsAt: now + repeatedForMs });
  }
}

export function candidates(
  input: PlanInput,
  index: PlanIndex,
  due: readonly ExecutionInput[],
): Candidate[] {
  const waiting = input.open.filter(({ state }) => state === 'PENDIENTE');
  const again = new Set(input.open.map((one) => repeatKey(one.input)));
  const fresh = [...repeated(input, index)].filter((one) => !again.has(repeatKey(one)));
  const priorityOf = (robotId: number): number =>
    index.robots.get(robotId)?.PrioridadBalanceo ?? 100;
  return [
    ...waiting.map((one) => ({
      jobId: one.id,
      input: one.input,
      attempt: one.record.attempt,
      priority: priorityOf(one.input.robotId),
      problem: problemOf(one, index),
    })),
    ...[...due, ...fresh].map((one) => ({
      jobId: null,
      input: one,
      attempt: 0,
      priority: priorityOf(one.robotId),
      problem: null,
    })),
  ];
}

function repeatKey({ robotId, device, origin, scheduleId }: ExecutionInput): string {
  return `${pairKey(robotId, device)}/${origin}/${scheduleId}`;
}

/** What was switched off or taken away since the job began. */
function problemOf({ input }: OpenExecution, index: PlanIndex): string | null {
  const { robotId, device, origin, scheduleId } = input;
  const robot = index.robots.get(robotId);
  if (robot === undefined) return 'the robot is unknown';
  if (robot.Activo !== 1) return 'the robot is not active';
  if (origin === 'manual') return null;
  const present = index.byHost.get(hostOf(device));
  if (present === undefined) return 'the device is unknown';
  if (scheduleId !== null && index.schedules.get(scheduleId)?.Activo !== 1)
    return 'the schedule is not active';
  if (origin === 'online' && robot.EsOnline !== 1) return 'the robot is not online any more';
  if (!index.isAssigned(robotId, present.EquipoId, scheduleId)) return 'the assignment is gone';
  return null;
}
