import { secondsOfDay } from './local-time.ts';
import type { Schedule } from './slots.ts';
import { daysOf, toleranceMs } from './slots.ts';

const dayMinutes = 1_440;

/**
 * Two schedules on one device whose windows meet on some day. One of them would wait for the other's
 * robot, and be left out where that takes too long.
 */
export function overlaps(one: Schedule, other: Schedule): boolean {
  if (!mayMeet(one, other)) return false;
  const [a, b] = [windowOf(one), windowOf(other)];
  // A window that crosses midnight meets the other one also a day later.
  return [-dayMinutes, 0, dayMinutes].some(
    (shift) => a.from + shift < b.to && b.from < a.to + shift,
  );
}

function windowOf(schedule: Schedule): { readonly from: number; readonly to: number } {
  const from = (secondsOfDay(schedule.HoraInicio) ?? 0) / 60;
  if (schedule.EsCiclico === 0) return { from, to: from + toleranceMs(schedule) / 60_000 };
  const end = schedule.HoraFin === null ? dayMinutes : (secondsOfDay(schedule.HoraFin) ?? 0) / 60;
  return { from, to: end <= from ? end + dayMinutes : end };
}

/** Whether their days can be the same: told for pairs of one type, else assumed. */
function mayMeet(one: Schedule, other: Schedule): boolean {
  if (one.TipoProgramacion !== other.TipoProgramacion) return true;
  switch (one.TipoProgramacion) {
    case 'Semanal': {
      const days = daysOf(other.DiasSemana);
      return daysOf(one.DiasSemana).some((day) => days.includes(day));
    }
    case 'Mensual':
      return one.DiaDelMes === other.DiaDelMes;
    case 'Especifica':
      return one.FechaEspecifica === other.FechaEspecifica;
    default:
      return true;
  }
}
