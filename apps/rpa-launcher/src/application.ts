import {
  type Clock,
  createServer,
  type Log,
  type Server,
  type Setup,
  systemClock,
} from 'capataz/server';
import type { AlertMarks, Alerts } from './alerts/contract.ts';
import { callbackMaker } from './callbacks/callbacks.ts';
import { launcherCommands } from './cli/commands.ts';
import type { LauncherCommand } from './cli/context.ts';
import type { LauncherSettings } from './config/settings.ts';
import type { ControlRoom } from './control-room/contract.ts';
import { Executions } from './cycles/executions.ts';
import { projection } from './cycles/projection.ts';
import { type StoredSettings, settings, storedSettings, tablesPlace } from './declared.ts';
import { executionBlueprint } from './execution/blueprint.ts';
import { executionRules, rulesStore } from './execution/rules.ts';
import { Launcher } from './launcher.ts';
import { storedAlertMarks } from './tables/alert-marks.ts';
import { type Database, type Db, openDatabase } from './tables/database.ts';
import { Turn, turnEvery } from './turn.ts';

export const applicationName = 'capataz-rpa';

export type LauncherSetup = Setup<typeof settings>;

/** What a launcher is made of: the real parts, or what stands in for them. */
export interface Parts {
  /** With a set-up where a launcher starts, without one for a command that looks at the tables. */
  readonly settings: (stored: StoredSettings, setup?: LauncherSetup) => LauncherSettings;
  readonly controlRoom: (
    settings: LauncherSettings,
    alerts: Alerts,
    setup: LauncherSetup,
  ) => ControlRoom;
  readonly alerts: (settings: LauncherSettings, marks: AlertMarks, setup: LauncherSetup) => Alerts;
  /** The dynamic token of callbacks. */
  readonly gatewayHeaders: (
    settings: LauncherSettings,
    setup: LauncherSetup,
  ) => () => Promise<Readonly<Record<string, string>>>;
  /** When the tables are there, before anything runs. */
  readonly beforeStart?: (db: Db) => Promise<void>;
  /** How long a stop may take. Default: the server's own `drain`. */
  readonly shutdownTimeoutMs?: () => number;
  readonly furtherCommands?: readonly LauncherCommand[];
  readonly clock?: Clock;
  readonly log?: Log;
}

interface Stores extends Readonly<Record<string, unknown>> {
  readonly database: Database;
  readonly launcher: Launcher;
  readonly turn: Turn;
}

export type LauncherServer = Server<typeof settings, Stores>;
export type RunningLauncher = Awaited<ReturnType<LauncherServer['start']>>;

export function launcherServer(parts: Parts): LauncherServer {
  const { shutdownTimeoutMs, furtherCommands = [], clock: ownClock = systemClock } = parts;
  const now = (): number => ownClock.now();
  return createServer<typeof settings, Stores>({
    name: applicationName,
    settings,
    ...(parts.log === undefined ? {} : { log: parts.log }),
    ...(shutdownTimeoutMs === undefined ? {} : { shutdownTimeout: shutdownTimeoutMs }),
    commands: [...launcherCommands({ now, settings: parts.settings }), ...furtherCommands],
    blueprints: [executionBlueprint],
    stores: (setup) => storesOf(parts, setup),
    feeds: ({ stores, clock, client }) => {
      stores.launcher.world.executions.connect(client);
      return [projection({ ...stores.launcher.world, clock })];
    },
    schedules: ({ stores: { launcher, turn } }) => {
      const { settings: values } = launcher.world;
      const cycle = { from: 'end', atStart: true } as const;
      return [
        ...(turn.isNeeded
          ? [{ name: 'turno', every: turnEvery, ...cycle, run: () => turn.renew() } as const]
          : []),
        ...(values.isSyncEnabled
          ? [
              {
                name: 'sincronizador',
                every: `${values.syncIntervalMs}ms`,
                ...cycle,
                run: async () => void (await launcher.synchronize()),
              } as const,
            ]
          : []),
        {
          name: 'desplegador',
          every: `${values.deployIntervalMs}ms`,
          ...cycle,
          run: async (_, { signal }) => void (await launcher.deploy(signal)),
        },
        {
          name: 'conciliador',
          every: `${values.reconcileIntervalMs}ms`,
          ...cycle,
          run: async () => void (await launcher.reconcile()),
        },
      ];
    },
    onStart: async ({ stores: { launcher, turn }, log }) => {
      const { isSyncEnabled, smtpServer } = launcher.world.settings;
      if (smtpServer === null)
        log.warn(
          'mail is not set up: alerts go to the log only; set EMAIL_SMTP_SERVER to mail them',
        );
      if (!isSyncEnabled)
        log.warn('LANZADOR_HABILITAR_SYNC is off: robots and devices are not read');
      if (turn.isNeeded) await turn.renew();
      await launcher.listen();
    },
    onStop: async ({ stores: { launcher, turn, database } }) => {
      await launcher.close();
      await turn.giveUp();
      await database.close();
    },
  });
}

async function storesOf(parts: Parts, setup: LauncherSetup): Promise<Stores> {
  const { config, clock, log } = setup;
  const database = await openDatabase(tablesPlace(config, setup.settings));
  try {
    await parts.beforeStart?.(database.db);
    const values = parts.settings(await storedSettings(database), setup);
    const rules = executionRules(values);
    const alerts = parts.alerts(values, storedAlertMarks(database.db), setup);
    const turn = new Turn({
      ...{ database, clock, log },
      hasOwnJobs: !/^postgres/.test(config.storeUrl ?? ''),
      onTaken: () => alerts.reread(),
    });
    const launcher = new Launcher({
      ...{
        settings: values,
        rules,
        db: database.db,
        databaseKind: database.kind,
        alerts,
        clock,
        log,
        isOnTurn: turn.isOn,
      },
      executions: new Executions(),
      controlRoom: parts.controlRoom(values, alerts, setup),
      callbacks: callbackMaker(values, parts.gatewayHeaders(values, setup)),
    });
    return { database, launcher, turn, [rulesStore]: rules };
  } catch (error) {
    await database.close();
    throw error;
  }
}
