import type { Clock, Log } from 'capataz/server';
import type { Alerts } from '../alerts/contract.ts';
import type { LauncherSettings } from '../config/settings.ts';
import type { Callback, ControlRoom } from '../control-room/contract.ts';
import type { ExecutionRules } from '../execution/rules.ts';
import type { Moment } from '../tables/assignments.ts';
import type { Db } from '../tables/database.ts';
import type { DatabaseKind } from '../tables/kind.ts';
import type { Executions } from './executions.ts';

/** What the three cycles work with. */
export interface LauncherWorld {
  readonly settings: LauncherSettings;
  readonly rules: ExecutionRules;
  readonly db: Db;
  readonly databaseKind: DatabaseKind;
  readonly executions: Executions;
  readonly controlRoom: ControlRoom;
  readonly alerts: Alerts;
  readonly callbacks: CallbackMaker | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this launcher still has its turn among several on the same tables. */
  readonly isOnTurn: () => boolean;
}

/** Once a cycle; then, for each deployment, where the Control Room shall report its end. */
export interface CallbackMaker {
  prepare(): Promise<(jobId: string) => Callback>;
}

export function momentOf({ clock, settings }: Pick<LauncherWorld, 'clock' | 'settings'>): Moment {
  return { now: clock.now(), zone: settings.zone };
}
