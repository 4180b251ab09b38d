import { alertVariables } from './alert-variables.ts';
import { connectionVariables } from './connection-variables.ts';
import { cycleVariables } from './cycle-variables.ts';
import type { ValuesOf } from './variable.ts';

/** Every variable of the launcher, by its name in the program. */
export const variables = {
  ...cycleVariables,
  ...connectionVariables,
  ...alertVariables,
} as const;

/** The effective value of each. Durations are ms; times of day are `HH:MM` in `zone`. */
export type LauncherSettings = ValuesOf<typeof variables>;
