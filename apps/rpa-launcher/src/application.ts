import { join } from 'node:path';
import {
  type Clock,
  type Config,
  createServer,
  type FeedOptions,
  type Log,
  type Server,
  type SettingDeclarations,
  type SettingValues,
  type Setup,
} from 'capataz/server';
import type { AlertMarks, Alerts } from './alerts/contract.ts';
import { callbackMaker } from './callbacks/callbacks.ts';
import type { LauncherSettings } from './config/settings.ts';
import type { ControlRoom } from './control-room/contract.ts';
import { Executions } from './cycles/executions.ts';
import { executionBlueprint } from './execution/blueprint.ts';
import { executionRules, rulesStore } from './execution/rules.ts';
import { Launcher } from './launcher.ts';
import { storedAlertMarks } from './tables/alert-marks.ts';
import { type Database, type Db, openDatabase } from './tables/database.ts';
import { executionRow, projectionPosition, storeProjection } from './tables/projection.ts';
import { Turn, turnEvery } from './turn.ts';

export const applicationName = 'capataz-rpa';

export const settings = {
  databaseUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'PostgreSQL for the launcher’s tables, in place of a file in the data folder: `postgres://user:password@host:5432/database`, with `?schema=` for one that is not `capataz_rpa`.',
  },
} as const satisfies SettingDeclarations;

export type LauncherSetup = Setup<typeof settings>;

/** Rows of ConfiguracionSistema, which go before environment and file. */
export type StoredSettings = Readonly<Record<string, string>>;

/** What a launcher is made of: the real parts, or what stands in for them. */
export interface Parts {
  readonly settings: (stored: StoredSettings) => LauncherSettings;
  readonly controlRoom: (settings: LauncherSettings, setup: LauncherSetup) => ControlRoom;
  readonly alerts: (settings: LauncherSettings, marks: AlertMarks, setup: LauncherSetup) => Alerts;
  /** The dynamic token of callbacks. */
  readonly gatewayHeaders: (
    settings: LauncherSettings,
    setup: LauncherSetup,
  ) => () => Promise<Readonly<Record<string, string>>>;
  /** When the tables are there, before anything runs. */
  readonly beforeStart?: (db: Db) => Promise<void>;
  readonly log?: Log;
}

interface Stores extends Readonly<Record<string, unknown>> {
  readonly database: Database;
  readonly launcher: Launcher;
  readonly turn: Turn;
}

export type LauncherServer = Server<typeof settings, Stores>;
export type RunningLauncher = Awaited<ReturnType<LauncherServer['start']>>;

/** Where the tables lie. In a file of their own: the store of the jobs is the server's alone. */
export function tablesPlace(
  { dataDir }: Pick<Config, 'dataDir'>,
  { databaseUrl }: SettingValues<typeof settings>,
): string {
  return databaseUrl ?? join(dataDir, 'rpa.sqlite');
}

export async function storedSettings({ db }: Database): Promise<StoredSettings> {
  const rows = await db.selectFrom('ConfiguracionSistema').select(['Clave', 'Valor']).execute();
  return Object.fromEntries(
    rows.flatMap(({ Clave, Valor }) => (Valor === null ? [] : [[Clave, Valor]])),
  );
}

export function launcherServer(parts: Parts): LauncherServer {
  return createServer<typeof settings, Stores>({
    name: applicationName,
    settings,
    ...(parts.log === undefined ? {} : { log: parts.log }),
    blueprints: [executionBlueprint],
    stores: (setup) => storesOf(parts, setup),
    feeds: ({ stores, clock, client }) => {
      stores.launcher.world.executions.connect(client);
      return [projection(stores, clock)];
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
      if (!launcher.world.settings.isSyncEnabled)
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
    const values = parts.settings(await storedSettings(database));
    const rules = executionRules(values);
    const turn = new Turn({ database, clock, log });
    const alerts = parts.alerts(values, storedAlertMarks(database.db), setup);
    const launcher = new Launcher({
      ...{ settings: values, rules, db: database.db, alerts, clock, log, isOnTurn: turn.isOn },
      executions: new Executions(),
      controlRoom: parts.controlRoom(values, setup),
      callbacks: callbackMaker(values, parts.gatewayHeaders(values, setup)),
    });
    return { database, launcher, turn, [rulesStore]: rules };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Ejecuciones follows the jobs: what stands in their books is looked up and stored with the position. */
function projection({ database: { db }, launcher }: Stores, clock: Clock): FeedOptions {
  const { settings: values, executions } = launcher.world;
  return {
    name: 'ejecuciones',
    position: () => projectionPosition(db),
    apply: async (events, position) => {
      const ids = [...new Set(events.map(({ jobId }) => jobId))];
      const jobs = await Promise.all(ids.map((id) => executions.get(id)));
      const rows = jobs.flatMap(
        (job) => (job === null ? null : executionRow(job, values.zone, clock.now())) ?? [],
      );
      await storeProjection(db, rows, position);
    },
  };
}
