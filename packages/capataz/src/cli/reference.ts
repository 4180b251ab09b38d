import type { Command } from 'commander';
import { environmentName, fileKey } from '../config/setting.ts';
import { type SettingName, settingNames, settingOf } from '../config/settings.ts';

/** The commands of the reference: each with its arguments and what it does. */
export function commandRows(program: Command): string[] {
  return leaves(program, []).map(({ path, command }) => {
    const words = ['capataz', ...path, ...command.registeredArguments.map(argumentText)].join(' ');
    return `| \`${words}\` | ${command.description()} |`;
  });
}

/** The settings of the reference: key, type, default, names in the environment, meaning. */
export function settingRows(): string[] {
  return settingNames.map((name) => {
    const { type, default: fallback, meaning } = settingOf(name);
    const shown = fallback === null ? '' : `\`${fallback}\``;
    return `| \`${fileKey(name)}\` | ${type} | ${shown} | ${environmentNames(name)} | ${meaning} |`;
  });
}

function environmentNames(name: SettingName): string {
  const { aliases = [], secret } = settingOf(name);
  const own = environmentName(name);
  const aliasTexts = aliases.map(
    (alias) => `\`${alias.name}\`${alias.unit === undefined ? '' : ` (${alias.unit})`}`,
  );
  return [`\`${own}\``, ...(secret ? [`\`${own}_FILE\``] : []), ...aliasTexts].join(', ');
}

function leaves(
  command: Command,
  path: readonly string[],
): { readonly path: readonly string[]; readonly command: Command }[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

function argumentText(argument: { name(): string; variadic: boolean }): string {
  return argument.variadic ? `<${argument.name()}…>` : `<${argument.name()}>`;
}
