import type { LauncherSettings } from '../config/settings.ts';
import { type Pause, pauseOf } from '../planning/pause.ts';

/** What the states of an execution go by. */
export interface ExecutionRules {
  /** A deploy call that has said nothing for so long was lost with its launcher: S-90. */
  readonly answerMs: number;
  /** A run without a positive sign for so long ends as UNKNOWN. */
  readonly toleranceMs: number;
  /** A run that became UNKNOWN holds its device for so long. */
  readonly unknownActiveMs: number;
  readonly pause: Pause | null;
}

const beyondTimeoutMs = 30_000;

/** @throws CapatazError CONFIG_INVALID */
export function executionRules(settings: LauncherSettings): ExecutionRules {
  return {
    answerMs: settings.apiTimeoutMs + beyondTimeoutMs,
    toleranceMs: settings.unknownToleranceMs,
    unknownActiveMs: settings.unknownActiveMs,
    pause: pauseOf(settings),
  };
}

/** Three look-ups over at least so long prove that nothing was deployed (S-91). */
export const absenceProof = { lookUps: 3, overMs: 180_000 } as const;

/** Handlers find them among the stores of the application. */
export const rulesStore = 'reglas';

export function rulesOf({
  stores,
}: {
  readonly stores: Readonly<Record<string, unknown>>;
}): ExecutionRules {
  const rules = stores[rulesStore];
  if (rules === undefined) throw new Error(`there is no store "${rulesStore}"`);
  // Only the application puts something there.
  return rules as ExecutionRules;
}
