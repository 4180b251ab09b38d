import { type Blackout, blackout, CapatazError, RuleError } from 'capataz';
import type { LauncherSettings } from '../config/settings.ts';

/** The hours in which nothing is deployed: start inclusive, end exclusive, in the zone of the settings. */
export type Pause = Blackout;

/**
 * No pause where one of both is empty.
 * @throws CapatazError CONFIG_INVALID for a text that is no time, and for an end that is the start: who
 * wrote it may have meant the whole day or none of it (LH-6)
 */
export function pauseOf({
  pauseStart,
  pauseEnd,
  zone,
}: Pick<LauncherSettings, 'pauseStart' | 'pauseEnd' | 'zone'>): Pause | null {
  if (pauseStart === null || pauseEnd === null) return null;
  try {
    return blackout('pausa', { from: pauseStart, to: pauseEnd, zone });
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    const name = `LANZADOR_PAUSA_${error.field === 'from' ? 'INICIO' : 'FIN'}_HHMM`;
    throw new CapatazError('CONFIG_INVALID', `${name}: ${error.message}`, { field: name }, error);
  }
}

/** Whether a slot could never run because all of its window lies in one pause. */
export function isAllInPause(pause: Pause | null, startsAt: number, endsAt: number): boolean {
  const window = pause?.at(startsAt) ?? null;
  return window !== null && endsAt < window.end;
}
