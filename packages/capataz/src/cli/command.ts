import { Command } from 'commander';
import type { Client } from '../client/index.ts';
import type { EffectiveConfig } from '../config/load.ts';
import type { SettingName } from '../config/settings.ts';
import { type ConnectOptions, withClient } from './connect.ts';
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
  /** The address of the server that this command is itself while it works; null: another's. */
  readonly embeddedUrl: string | null;
}

export function sessionOf(
  command: Command,
  context: CliContext,
  uses: readonly SettingName[],
): Session {
  const config = effectiveConfig(command, context, { uses });
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
  return addSettings(command, clientSettings, {
    meanings: {
      url: 'Server to talk to. Default: the one that holds the data folder; where there is no such folder, http://127.0.0.1:8080.',
    },
  });
}

/** Runs `work` with a client of the server that is meant. */
export function withSession(
  command: Command,
  context: CliContext,
  work: (session: ClientSession) => Promise<void>,
  options: ConnectOptions = {},
): Promise<void> {
  const session = sessionOf(command, context, clientSettings);
  const connect = { config: session.config, context, ...options };
  return withClient(connect, (client, embeddedUrl) => work({ ...session, client, embeddedUrl }));
}
