import { Command } from 'commander';
import type { ApplicationCommand, CommandContext } from './application.ts';
import {
  type ClientSession,
  clientCommand,
  type Session,
  sessionOf,
  withSession,
} from './command.ts';
import type { CliContext } from './context.ts';
import { addApplicationSettings, addSettings, applicationSettings } from './options.ts';
import { processLog } from './process-log.ts';

const localSettings = ['dataDir', 'timeZone', 'logLevel', 'logFormat'] as const;

/** A command of the application, with the flags that ours have. */
export function applicationCommand(own: ApplicationCommand, context: CliContext): Command {
  const command =
    own.needsServer === false
      ? addSettings(localCommand(own), localSettings)
      : clientCommand(own.name, own.description);
  for (const option of own.options ?? [])
    command.option(option.flags, option.description, option.default);
  addApplicationSettings(command, context);
  return command.action(async () => {
    const code = await runCommand(own, command, context);
    if (typeof code === 'number') context.exitCode = code;
  });
}

function localCommand({ name, description }: ApplicationCommand): Command {
  const [word, ...given] = name.split(' ');
  const command = new Command(word).description(description);
  for (const argument of given) command.argument(argument);
  return command.option('--json', 'Write JSON.');
}

async function runCommand(
  own: ApplicationCommand,
  command: Command,
  context: CliContext,
): Promise<number | void> {
  const settings = applicationSettings(command, context).values;
  if (own.needsServer === false) {
    const session = sessionOf(command, context, localSettings);
    return own.run({ ...commonContext(session, command), settings });
  }
  let code: number | undefined;
  const work = async (session: ClientSession): Promise<void> => {
    const { client } = session;
    code = (await own.run({ ...commonContext(session, command), settings, client })) ?? undefined;
  };
  await withSession(command, context, work, { needsBlueprints: true, settings });
  return code;
}

function commonContext(
  { config, print, asJson, context }: Session,
  command: Command,
): Omit<CommandContext, 'settings'> {
  return {
    config: config.values,
    print,
    asJson,
    log: processLog(config.values, context),
    arguments: command.args,
    options: command.opts(),
  };
}
