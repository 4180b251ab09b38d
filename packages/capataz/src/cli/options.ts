import { type Command, Option } from 'commander';
import {
  type EffectiveConfig,
  type EffectiveSettings,
  environmentNames,
  loadConfig,
  loadSettings,
} from '../config/load.ts';
import { environmentName, flagName, type Setting, type SettingValue } from '../config/setting.ts';
import { type SettingName, settingNames, settingOf } from '../config/settings.ts';
import type { CliContext } from './context.ts';

/** One letter for the common ones. */
const shortFlags: Readonly<Partial<Record<SettingName, string>>> = {
  port: '-p',
  dataDir: '-d',
  blueprints: '-b',
  url: '-u',
};

export type FlagNames = Readonly<Partial<Record<SettingName, string>>>;

/** What commands that talk to a server need, wherever it is (S-67). */
export const clientSettings = [
  'url',
  'token',
  'dataDir',
  'storeUrl',
  'blueprints',
  'timeZone',
] as const;

const notOfServer: ReadonlySet<SettingName> = new Set([
  'url',
  'token',
  'workerToken',
  'workerId',
  'workerConcurrency',
  'workerHeartbeat',
  'workerDrain',
] as const);

/** What a server needs. */
export const serverSettings = settingNames.filter((name) => !notOfServer.has(name));

export interface FlagOptions {
  /** Where a flag is not named as its setting. */
  readonly flagNames?: FlagNames;
  /** Where a setting means something more special here than in the reference. */
  readonly meanings?: Readonly<Partial<Record<SettingName, string>>>;
}

/** Gives a command flags for these settings, and `--config`. */
export function addSettings(
  command: Command,
  names: readonly SettingName[],
  { flagNames = {}, meanings = {} }: FlagOptions = {},
): Command {
  for (const name of names) {
    const setting = settingOf(name);
    const flag = flagNames[name] ?? flagName(name);
    const short = shortFlags[name] === undefined ? '' : `${shortFlags[name]}, `;
    const meaning = meanings[name] ?? setting.meaning;
    const words = { flag: `${short}${flag}`, variable: environmentName(name) };
    command.addOption(settingOption({ ...setting, meaning }, words));
  }
  return command.option(
    '-c, --config <path>',
    'Configuration file. (CAPATAZ_CONFIG, default capataz.toml)',
  );
}

/** Gives a command flags for the application's own settings. */
export function addApplicationSettings(command: Command, { application }: CliContext): Command {
  const { settings, prefix } = application.settings;
  for (const [name, setting] of Object.entries(settings)) {
    if (setting.type === 'tables') continue;
    const words = { flag: flagName(name), variable: environmentName(name, prefix) };
    command.addOption(settingOption(setting, words));
  }
  return command;
}

function settingOption(
  setting: Setting,
  { flag, variable }: { readonly flag: string; readonly variable: string },
): Option {
  const value = setting.choices?.join('|') ?? setting.type;
  const origin = setting.default === null ? variable : `${variable}, default ${setting.default}`;
  return new Option(`${flag} <${value}>`, `${setting.meaning} (${origin})`);
}

/**
 * The settings of a command, of which it `uses` some; warnings go to standard error.
 * @throws CapatazError CONFIG_INVALID
 */
export function effectiveConfig(
  command: Command,
  { environment, directory, stderr, application }: CliContext,
  {
    uses,
    flagNames = {},
  }: { readonly uses: readonly SettingName[]; readonly flagNames?: FlagNames },
): EffectiveConfig {
  const given: Record<string, unknown> = { ...command.optsWithGlobals() };
  for (const [name, flag] of Object.entries(flagNames)) {
    const key = flag.slice(2).replace(/-[a-z]/g, (letter) => letter.slice(1).toUpperCase());
    given[name] = given[key];
    if (key !== name) delete given[key];
  }
  const foreign = environmentNames(application.settings);
  const config = loadConfig({ flags: given, flagNames, environment, directory, uses, foreign });
  for (const warning of config.warnings) stderr.write(`warning: ${warning}\n`);
  return config;
}

/**
 * The application's own settings, from the flags of a command that has them, else from elsewhere.
 * @throws CapatazError CONFIG_INVALID
 */
export function applicationSettings(
  command: Command | null,
  { environment, directory, stderr, application }: CliContext,
): ApplicationConfig {
  const { settings } = application;
  if (Object.keys(settings.settings).length === 0) return noSettings;
  const flags = command === null ? {} : command.optsWithGlobals();
  const config = loadSettings<ApplicationConfig['values']>(
    { flags, environment, directory },
    settings,
  );
  for (const warning of config.warnings) stderr.write(`warning: ${warning}\n`);
  return config;
}

export type ApplicationConfig = EffectiveSettings<Readonly<Record<string, SettingValue | null>>>;

const noSettings: ApplicationConfig = {
  values: {},
  sources: {},
  file: null,
  unused: [],
  warnings: [],
  faults: [],
};
