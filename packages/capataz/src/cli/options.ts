import { type Command, Option } from 'commander';
import { type EffectiveConfig, loadConfig } from '../config/load.ts';
import {
  environmentName,
  flagName,
  type SettingName,
  settingNames,
  settingOf,
} from '../config/settings.ts';
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
export const clientSettings = ['url', 'token', 'dataDir', 'blueprints', 'timeZone'] as const;

const notOfServer: ReadonlySet<SettingName> = new Set([
  'url',
  'token',
  'timeZone',
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
    const meaning = meanings[name] ?? setting.meaning;
    const value = setting.choices?.join('|') ?? setting.type;
    const flag = flagNames[name] ?? flagName(name);
    const short = shortFlags[name] === undefined ? '' : `${shortFlags[name]}, `;
    const origin = [
      environmentName(name),
      ...(setting.default === null ? [] : [`default ${setting.default}`]),
    ];
    command.addOption(
      new Option(`${short}${flag} <${value}>`, `${meaning} (${origin.join(', ')})`),
    );
  }
  return command.option(
    '-c, --config <path>',
    'Configuration file. (CAPATAZ_CONFIG, default capataz.toml)',
  );
}

/**
 * The settings of a command, of which it `uses` some; warnings go to standard error.
 * @throws CapatazError CONFIG_INVALID
 */
export function effectiveConfig(
  command: Command,
  { environment, directory, stderr }: CliContext,
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
  const config = loadConfig({ flags: given, flagNames, environment, directory, uses });
  for (const warning of config.warnings) stderr.write(`warning: ${warning}\n`);
  return config;
}
