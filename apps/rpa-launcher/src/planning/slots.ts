import { slots as calendarSlots, type Slots } from 'capataz';
import type { ProgramacionRow } from '../tables/schema.ts';
import {
  type CalendarDay,
  calendarDay,
  dayBefore,
  localTime,
  secondsOfDay,
  type Weekday,
  weekdays,
} from './local-time.ts';

export type Schedule = Omit<
  ProgramacionRow,
  'ProgramacionId' | 'Activo' | 'EsCiclico' | 'FechaCreacion' | 'FechaModificacion'
> & { readonly ProgramacionId: number; readonly Activo: number; readonly EsCiclico: number };

/** One time that a schedule comes round. Its date is the theoretical one, whenever it runs (LH-9). */
export interface ScheduleSlot {
  /** `YYYY-MM-DD` in the zone, of the hour that the schedule names. */
  readonly date: string;
  readonly startsAt: number;
  /** The last instant at which it may still be deployed. */
  readonly endsAt: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
export const defaultToleranceMinutes = 60;
/** A longer tolerance would reach into the slot of the next day. */
const maxToleranceMinutes = 1_440;

export function toleranceMs({ Tolerancia }: Pick<Schedule, 'Tolerancia'>): number {
  const minutes = Tolerancia ?? defaultToleranceMinutes;
  return Math.min(Math.max(minutes, 0), maxToleranceMinutes) * minuteMs;
}

const calendars = new Map<string, Slots>();

/** A time that the clocks leave out is taken at the first instant behind, one that comes twice once (LH-4). */
function timesOfDay(seconds: number, zone: string): Slots {
  const pad = (value: number): string => String(value).padStart(2, '0');
  const dailyAt = `${pad(Math.floor(seconds / 3_600))}:${pad(Math.floor(seconds / 60) % 60)}`;
  const key = `${dailyAt} ${zone}`;
  const known = calendars.get(key) ?? calendarSlots({ dailyAt }, zone);
  calendars.set(key, known);
  return known;
}

/** Of the hour that was meant: a gap that ends at midnight, as in Nuuk, puts it into the next day. */
function theoreticalDate(instant: number, seconds: number, zone: string): string {
  const { date, time } = localTime(instant, zone);
  const meant = seconds - (seconds % 60);
  return (secondsOfDay(time) ?? 0) < meant ? dayBefore(date) : date;
}

/** The slots of a schedule that is no cyclic one which begin behind `after`, up to `until`. */
export function slotsBetween(
  schedule: Schedule,
  { after, until, zone }: { readonly after: number; readonly until: number; readonly zone: string },
): ScheduleSlot[] {
  const seconds = secondsOfDay(schedule.HoraInicio);
  if (seconds === null) return [];
  const restMs = (seconds % 60) * 1_000;
  const toleratedMs = toleranceMs(schedule);
  const found: ScheduleSlot[] = [];
  for (const minute of timesOfDay(seconds, zone).between(after - restMs, until - restMs)) {
    const date = theoreticalDate(minute, seconds, zone);
    if (!isOn(schedule, date)) continue;
    const startsAt = minute + restMs;
    found.push({ date, startsAt, endsAt: startsAt + toleratedMs });
  }
  return found;
}

/** Those whose window an instant lies in, both ends included. */
export function slotsAt(schedule: Schedule, now: number, zone: string): ScheduleSlot[] {
  return slotsBetween(schedule, { after: now - toleranceMs(schedule) - 1, until: now, zone });
}

/** Whether the schedule comes on this date. A month without the day has no slot (LH-22). */
export function isOn(schedule: Schedule, date: string): boolean {
  const { FechaInicioVentana, FechaFinVentana } = schedule;
  if (FechaInicioVentana !== null && date < FechaInicioVentana) return false;
  if (FechaFinVentana !== null && date > FechaFinVentana) return false;
  const day = calendarDay(date);
  switch (schedule.TipoProgramacion) {
    case 'Diaria':
      return true;
    case 'Semanal':
      return daysOf(schedule.DiasSemana).includes(day.weekday);
    case 'Mensual':
      return schedule.DiaDelMes === day.day;
    case 'Especifica':
      return schedule.FechaEspecifica === date;
    case 'RangoMensual':
      return isInRange(schedule, day);
    default:
      return false;
  }
}

function isInRange(schedule: Schedule, { day, daysInMonth }: CalendarDay): boolean {
  const { DiaInicioMes, DiaFinMes, UltimosDiasMes } = schedule;
  if (UltimosDiasMes !== null) return day > daysInMonth - UltimosDiasMes;
  return day >= (DiaInicioMes ?? 1) && day <= (DiaFinMes ?? daysInMonth);
}

/** `Lu, mié,SÁB`: the first two letters of each count, in whatever case and with or without accents. */
export function daysOf(text: string | null): Weekday[] {
  return dayWords(text).flatMap((word) => weekdayOf(word) ?? []);
}

export function dayWords(text: string | null): string[] {
  return (text ?? '').split(/[,;\s]+/).filter((word) => word !== '');
}

export function weekdayOf(word: string): Weekday | null {
  const plain = word.normalize('NFD').replaceAll(/\p{M}/gu, '').slice(0, 2).toUpperCase();
  return weekdays.find((name) => name === plain) ?? null;
}

/**
 * The window of a cyclic schedule that an instant lies in, from HoraInicio to HoraFin; without HoraFin to
 * midnight. It may end on the next day; its date is the one on which it begins.
 */
export function cyclicWindowAt(schedule: Schedule, now: number, zone: string): ScheduleSlot | null {
  const from = secondsOfDay(schedule.HoraInicio);
  const to = schedule.HoraFin === null ? 0 : secondsOfDay(schedule.HoraFin);
  if (from === null || to === null) return null;
  const startsAt = timesOfDay(from, zone).previous(now + 1);
  if (startsAt === null || now - startsAt > dayMs + 2 * 3_600_000) return null;
  const endsAt = timesOfDay(to, zone).next(startsAt);
  const date = theoreticalDate(startsAt, from, zone);
  if (endsAt === null || now > endsAt || !isOn(schedule, date)) return null;
  // Without HoraFin midnight itself belongs to the next day.
  if (schedule.HoraFin === null && now === endsAt) return null;
  return { date, startsAt, endsAt };
}
