import { resolve } from 'node:path';
import { processContext } from '../cli/context.ts';
import { run } from '../cli/program.ts';
import type { RunningServer, Stores } from '../compose/composition.ts';
import { defaultSettings } from '../config/load.ts';
import type { SettingDeclarations, SettingValues } from '../config/setting.ts';
import { type Config, settings as ownSettings } from '../config/settings.ts';
import { createLog } from '../server/log.ts';
import { type Clock, systemClock } from '../std/clock.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { applicationOf } from './application-of.ts';
import type { ServerOptions } from './options.ts';

/** For a start from a program, which reads neither flags nor environment nor files. */
export interface StartOptions<D extends SettingDeclarations = SettingDeclarations> {
  /** Durations are ms. Default: the settings' own, and no folder of blueprints. */
  readonly config?: Partial<Config>;
  readonly settings?: Partial<SettingValues<D>>;
  readonly clock?: Clock;
  readonly random?: Random;
}

type AnyValues = SettingValues<SettingDeclarations>;

/** A composed server: to be started by a program, or by the command line. */
export interface Server<
  D extends SettingDeclarations = SettingDeclarations,
  S extends Stores = Stores,
> {
  /** @throws CapatazError CONFIG_INVALID, BLUEPRINT_INVALID, BLUEPRINT_CHANGED, STORE_IN_USE, … */
  start(options?: StartOptions<D>): Promise<RunningServer<D, S>>;
  /**
   * One command line of the application: `serve`, `dev`, `jobs` and all others of Capataz, and its
   * own. @param args without Node and script: `process.argv.slice(2)` @returns the exit code
   */
  run(args: readonly string[]): Promise<number>;
}

/**
 * The one way to compose a server; `capataz` itself is the one that is composed of nothing.
 * @throws CapatazError CONFIG_INVALID for names that are taken or none
 */
export function createServer<
  const D extends SettingDeclarations = Record<never, never>,
  S extends Stores = Record<never, never>,
>(options: ServerOptions<D, S>): Server<D, S> {
  // The types of settings and stores are only known to the compiler: inside, they are records.
  const application = applicationOf(options as unknown as ServerOptions);
  return {
    run: (args) => run(args, processContext(application)),
    async start({ config, settings, clock = systemClock, random = systemRandom } = {}) {
      const directory = process.cwd();
      // What the compiler knows as the values of these very settings.
      const given = (settings ?? {}) as AnyValues;
      const values = { ...defaultConfig(directory), ...config };
      const { startServer } = await import('../compose/start.ts');
      const server = await startServer({
        name: application.name,
        composition: application.composition,
        config: { ...values, dataDir: resolve(directory, values.dataDir) },
        settings: { ...defaultSettings<AnyValues>(application.settings, directory), ...given },
        log: application.log ?? createLog({ level: values.logLevel, to: process.stderr, clock }),
        clock,
        random,
      });
      return server as unknown as RunningServer<D, S>;
    },
  };
}

function defaultConfig(directory: string): Config {
  const config = defaultSettings<Config>({ settings: ownSettings }, directory);
  return { ...config, blueprints: null, clients: null, workers: null, schedules: null };
}
