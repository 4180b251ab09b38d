import { Command } from 'commander';
import { clockOf } from '../../compose/clock-switch.ts';
import type { RunningServer } from '../../compose/composition.ts';
import type { Config } from '../../config/settings.ts';
import type { Log } from '../../std/log.ts';
import type { CliContext } from '../context.ts';
import {
  addApplicationSettings,
  addSettings,
  applicationSettings,
  effectiveConfig,
  serverSettings,
} from '../options.ts';
import { processLog } from '../process-log.ts';

const serveFlags = [
  'port',
  'host',
  'dataDir',
  'storeUrl',
  'blueprints',
  'clients',
  'workers',
  'commonWorkerToken',
  'instance',
  'logLevel',
  'logFormat',
  'drain',
  'retentionAge',
  'retentionCount',
] as const;

export function serveCommand(context: CliContext): Command {
  const command = new Command('serve').description(
    'Run the server. Prints one line, `listening on http://…`, when it is ready; the log goes to standard error.',
  );
  addApplicationSettings(addSettings(command, serveFlags), context);
  return command.action(() => serve(command, context));
}

async function serve(command: Command, context: CliContext): Promise<void> {
  const { values } = effectiveConfig(command, context, { uses: serverSettings });
  const settings = applicationSettings(command, context);
  const log = processLog(values, context);
  const asked = Promise.withResolvers<string>();
  const timeoutMs = context.application.shutdownTimeout?.(settings.values);
  const patience = timeoutMs === undefined ? {} : { timeoutMs };
  const forget = context.onStop((signal) => asked.resolve(signal), patience);
  try {
    const { startServer } = await import('../../compose/start.ts');
    const { name, composition } = context.application;
    const server = await startServer({
      name,
      composition,
      config: timeoutMs === undefined ? values : { ...values, drain: timeoutMs },
      settings: settings.values,
      clock: clockOf(context.environment, context.clock),
      random: context.random,
      log,
    });
    if (server.openTo.length > 0) {
      const to = server.openTo.join(' and ');
      log.warn(`open mode: whoever reaches this address needs no token, as ${to}`, {
        url: server.url,
      });
    }
    // An application that has none in this process does so on purpose.
    if (server.blueprints.length > 0 || composition.blueprints === undefined)
      tellBlueprints(server.blueprints, values, log);
    context.stdout.write(`listening on ${server.url}\n`);
    log.info('stopping', { signal: await asked.promise });
    await server.stop();
  } finally {
    forget();
  }
}

function tellBlueprints(held: RunningServer['blueprints'], { blueprints }: Config, log: Log): void {
  const names = held.map(({ name, version }) => `${name} v${version}`);
  if (names.length > 0) return log.info(`holds ${names.join(', ')}`, { folder: blueprints });
  const where = blueprints === null ? 'there is no folder "blueprints"' : `${blueprints} has none`;
  log.warn(`holds no blueprint, so that no job can start: ${where}; name one with --blueprints`);
}
