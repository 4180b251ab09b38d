import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { addSettings, effectiveConfig } from '../options.ts';
import { processLog } from '../process-log.ts';

const serveSettings = [
  'port',
  'host',
  'dataDir',
  'blueprints',
  'clients',
  'workers',
  'commonWorkerToken',
  'instance',
  'logLevel',
  'logFormat',
  'drain',
] as const;

export function serveCommand(context: CliContext): Command {
  const command = new Command('serve').description(
    'Run the server. Prints one line, `listening on http://…`, when it is ready; the log goes to standard error.',
  );
  return addSettings(command, serveSettings).action(() => serve(command, context));
}

async function serve(command: Command, context: CliContext): Promise<void> {
  const { values } = effectiveConfig(command, context);
  const log = processLog(values, context);
  const asked = Promise.withResolvers<string>();
  const forget = context.onStop((signal) => asked.resolve(signal));
  try {
    const { startServer } = await import('../compose.ts');
    const server = await startServer({ config: values, context, log });
    if (server.isOpen) {
      log.warn('open mode: whoever reaches this address may use it without a token', {
        url: server.url,
      });
    }
    context.stdout.write(`listening on ${server.url}\n`);
    log.info('stopping', { signal: await asked.promise });
    await server.stop();
  } finally {
    forget();
  }
}
