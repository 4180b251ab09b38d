import { type Application, capataz, settingTable } from '../cli/application.ts';
import { commandNames } from '../cli/program.ts';
import { flagName, type SettingDeclarations } from '../config/setting.ts';
import { settingNames } from '../config/settings.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ServerOptions } from './options.ts';

/** Flags of ours that are no settings. */
const takenFlags = ['config', 'json', 'help', 'version', 'worker'];

/** @throws CapatazError CONFIG_INVALID with everything that is wrong. */
export function applicationOf(options: ServerOptions): Application {
  const { name = capataz.name, settings = {}, settingsFile, commands = [], ...rest } = options;
  const { shutdownTimeout = null, log = null, ...composition } = rest;
  const problems = [
    ...nameProblems(name, Object.keys(settings).length + commands.length > 0),
    ...settingProblems(settings),
    ...commandProblems(commands.map((command) => command.name.split(' ')[0] ?? '')),
  ];
  if (problems.length > 0) {
    const hint = 'This is code of the application: mend it there.';
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems, hint });
  }
  const table = settingTable(name, settings, settingsFile);
  return { name, composition, settings: table, commands, shutdownTimeout, log };
}

function nameProblems(name: string, hasOwn: boolean): string[] {
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name))
    return [`the name "${name}" must be lower-case letters and digits, with "-" between`];
  if (name === capataz.name && hasOwn)
    return ['an application with settings or commands of its own needs a name of its own'];
  return [];
}

function settingProblems(settings: SettingDeclarations): string[] {
  const taken: readonly string[] = [...settingNames, ...takenFlags];
  return Object.entries(settings).flatMap(([name, { secret, type }]) => [
    ...(/^[a-z][a-zA-Z0-9]*$/.test(name) ? [] : [`setting "${name}": write it in camelCase`]),
    ...(taken.includes(name) ? [`setting "${name}": ${flagName(name)} is one of Capataz`] : []),
    // What is wrong with a value is told with the value.
    ...(secret === true && type !== 'string' ? [`setting "${name}": a secret is a string`] : []),
  ]);
}

function commandProblems(names: readonly string[]): string[] {
  return names.flatMap((name, index) => {
    if (commandNames.includes(name) || name === 'help')
      return [`command "${name}": Capataz has one of this name`];
    return names.indexOf(name) === index ? [] : [`command "${name}": there are two of this name`];
  });
}
