import type { Client } from '../client/index.ts';
import type { Composition } from '../compose/composition.ts';
import type { SettingTable } from '../config/load.ts';
import type { SettingDeclarations, SettingValues } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import type { Log } from '../std/log.ts';
import type { Printer } from './output.ts';

/** What a command of an application works with, as ours do. */
export interface CommandContext<D extends SettingDeclarations = SettingDeclarations> {
  readonly config: Config;
  readonly settings: SettingValues<D>;
  /** Writes to standard output: columns, instants in their zone, colours on a terminal only. */
  readonly print: Printer;
  /** What was given for `<name>` and `[name]`, in order. */
  readonly arguments: readonly string[];
  /** What was given for the options, by their names in camelCase. */
  readonly options: Readonly<Record<string, unknown>>;
  /** `--json`: write one document for programs rather than text for people. */
  readonly asJson: boolean;
  readonly log: Log;
}

export interface ClientCommandContext<D extends SettingDeclarations = SettingDeclarations>
  extends CommandContext<D> {
  /**
   * Of the server that is meant: the one that was named, else the one that holds the data folder,
   * else one of its own on that folder for as long as the command takes.
   */
  readonly client: Client;
}

interface CommandWords {
  /** `report`, `report <since>`, `report [since]`, `report <names...>` */
  readonly name: string;
  readonly description: string;
  readonly options?: readonly {
    /** `--since <instant>`, `-n, --dry-run` */
    readonly flags: string;
    readonly description: string;
    readonly default?: string;
  }[];
}

/** @returns the exit code. Default 0; what is thrown says its own. */
type Run<Context> = (context: Context) => Promise<number | void> | number | void;

/** A further command of the application, beside `serve`, `jobs` and the rest. */
export type ApplicationCommand<D extends SettingDeclarations = SettingDeclarations> =
  | (CommandWords & {
      readonly needsServer?: true;
      readonly run: Run<ClientCommandContext<D>>;
    })
  | (CommandWords & {
      /** It works without any server: on the application's own tables, say. */
      readonly needsServer: false;
      readonly run: Run<CommandContext<D>>;
    });

/** What the commands know of the application that they are of. */
export interface Application {
  /** The word that is typed. */
  readonly name: string;
  readonly composition: Composition;
  readonly settings: SettingTable;
  readonly commands: readonly ApplicationCommand[];
  /** Of `serve`. Null: the setting `drain`, and the second signal ends it at once. */
  readonly shutdownTimeout: ((settings: SettingValues<SettingDeclarations>) => number) | null;
  /** Default: lines on standard error. */
  readonly log: Log | null;
}

/** The settings of an application: `RELAY_…` and `relay.toml` for one that is named `relay`. */
export function settingTable(
  name: string,
  settings: SettingDeclarations,
  fileName = `${name}.toml`,
): SettingTable {
  const prefix = `${name.replaceAll('-', '_').toUpperCase()}_`;
  return { settings, prefix, fileName, hasConfigFlag: false };
}

/** Capataz itself: nothing but what is found in folders. */
export const capataz: Application = {
  name: 'capataz',
  composition: {},
  settings: settingTable('capataz', {}),
  commands: [],
  shutdownTimeout: null,
  log: null,
};
