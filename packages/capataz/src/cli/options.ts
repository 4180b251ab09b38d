import { type Command, Option } from 'commander';
import { type EffectiveConfig, loadConfig } from '../config/load.ts';
import { environmentName, flagName, type SettingName, settingOf } from '../config/settings.ts';
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

/** Gives a command flags for these settings, and `--config`. */
export function addSettings(
  command: Command,
  names: readonly SettingName[],
  flagNames: FlagNames = {},
): Command {
  for (const name of names) {
    const setting = settingOf(name);
    const flag = flagNames[name] ?? flagName(name);
    const short = shortFlags[name] === undefined ? '' : `${shortFlags[name]}, `;
    const origin = [
      environmentName(name),
      ...(setting.default === null ? [] : [`default ${setting.default}`]),
    ];
    command.addOption(
      new Option(`${short}${flag} <${setting.type}>`, `${setting.meaning} (${origin.join(', ')})`),
    );
  }
  return command.option(
    '-c, --config <path>',
    'Configuration file. (CAPATAZ_CONFIG, default capataz.toml)',
  );
}

/** @throws CapatazError CONFIG_INVALID */
export function effectiveConfig(
  command: Command,
  context: CliContext,
  flagNames: FlagNames = {},
): EffectiveConfig {
  const given: Record<string, unknown> = { ...command.optsWithGlobals() };
  for (const [name, flag] of Object.entries(flagNames)) {
    const key = flag.slice(2).replace(/-[a-z]/g, (letter) => letter.slice(1).toUpperCase());
    given[name] = given[key];
    if (key !== name) delete given[key];
  }
  const { environment, directory } = context;
  return loadConfig({ flags: given, flagNames, environment, directory });
}
