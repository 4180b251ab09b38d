import { Command } from 'commander';
import type { Client } from '../client/index.ts';
import type { EffectiveConfig } from '../config/load.ts';
import { withClient } from './connect.ts';
import type { CliContext } from './context.ts';
import { addSettings, clientSettings, effectiveConfig } from './options.ts';
import { Printer } from './output.ts';

/** What a command works with once its flags are read. */
export interface Session {
  readonly context: CliContext;
  readonly config: EffectiveConfig;
  readonly print: Printer;
  /** Write one document for programs rather than text for people. */
  readonly asJson: boolean;
}

export interface ClientSession extends Session {
  readonly client: Client;
}

export function sessionOf(command: Command, context: CliContext): Session {
  const config = effectiveConfig(command, context);
  return {
    context,
    config,
    print: new Printer(context.stdout, config.values.timeZone),
    asJson: command.opts<{ json?: boolean }>().json === true,
  };
}

/** A command that talks to a server, with the flags to find one and `--json`. */
export function clientCommand(nameAndArguments: string, description: string): Command {
  const command = new Command(nameAndArguments.split(' ')[0]).description(description);
  for (const argument of nameAndArguments.split(' ').slice(1)) command.argument(argument);
  command.option('--json', 'Write JSON.');
  return addSettings(command, clientSettings);
}

/** Runs `work` with a client of the server that is meant. */
export function withSession(
  command: Command,
  context: CliContext,
  work: (session: ClientSession) => Promise<void>,
): Promise<void> {
  const session = sessionOf(command, context);
  return withClient(session.config, context, (client) => work({ ...session, client }));
}
