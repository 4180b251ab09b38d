import type { ApplicationCommand } from '../cli/application.ts';
import type { Composition, Stores } from '../compose/composition.ts';
import type { SettingDeclarations, SettingValues } from '../config/setting.ts';
import type { Log } from '../std/log.ts';

export interface ServerOptions<
  D extends SettingDeclarations = SettingDeclarations,
  S extends Stores = Stores,
> extends Composition<D, S> {
  /**
   * The word of the application's command line, the prefix of its settings in the environment
   * (`relay`: `RELAY_…`) and the name of their file (`relay.toml`). Default `capataz`, which has no
   * settings and commands of its own.
   */
  readonly name?: string;
  /** The file of its settings in the working directory, where it is named otherwise. */
  readonly settingsFile?: string;
  /** The application's own settings. One that is `secret` is masked, and read from `…_FILE`, too. */
  readonly settings?: D;
  /** Further commands. */
  readonly commands?: readonly ApplicationCommand<D>[];
  /**
   * How long, in ms, a `serve` that was asked to stop waits for what is under way, in place of the
   * setting `drain`; then the process ends with 1. Meanwhile further signals change nothing: services
   * are often sent several. Default: `drain`, and a second signal ends the process at once.
   */
  readonly shutdownTimeout?: (settings: SettingValues<D>) => number;
  /** Default: lines on standard error, of the level and in the form of the settings. */
  readonly log?: Log;
}
