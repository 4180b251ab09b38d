import { Command } from 'commander';
import type { Config } from '../../config/settings.ts';
import { describeHolder } from '../../store/sqlite/index.ts';
import type { CliContext } from '../context.ts';
import { addSettings, effectiveConfig, type FlagNames } from '../options.ts';
import { processLog } from '../process-log.ts';
import { startWorker, workerOf } from '../run-worker.ts';
import { loadWorkerModule } from '../worker-module.ts';

const workerSettings = [
  'url',
  'workerToken',
  'workerId',
  'workerConcurrency',
  'workerHeartbeat',
  'workerDrain',
  'dataDir',
  'logLevel',
  'logFormat',
] as const;

const flagNames: FlagNames = {
  workerToken: '--token',
  workerId: '--id',
  workerConcurrency: '--concurrency',
  workerHeartbeat: '--heartbeat',
  workerDrain: '--drain',
};

export function workerCommand(context: CliContext): Command {
  const command = new Command('worker')
    .description(
      'Run a worker module: one that exports `skills`, and perhaps `name`, `concurrency`, `prefetch`, `hotSkills`, `offer`. As many as you like on one host: each gets an id of its own.',
    )
    .argument('<module>');
  addSettings(command, workerSettings, {
    flagNames,
    meanings: {
      url: 'Server to work for. Default: the one that holds the data folder, else http://127.0.0.1:8080.',
    },
  });
  return command.action((path: string) => runWorker(path, command, context));
}

async function runWorker(path: string, command: Command, context: CliContext): Promise<void> {
  const { values } = effectiveConfig(command, context, { uses: workerSettings, flagNames });
  const module = await loadWorkerModule(path, context.directory);
  const url = serverOf(values, context);
  const log = processLog(values, context);
  const worker = await workerOf(module, values, url, log);
  log.info('starting', { worker: worker.id, server: url });
  const forget = context.onStop(() => void worker.stop());
  try {
    await startWorker(worker);
    if (worker.state === 'running') {
      const skills = Object.keys(module.options.skills).join(', ');
      context.stdout.write(`worker ${worker.id} works for ${url}: ${skills}\n`);
    }
    await worker.stopped;
  } finally {
    forget();
  }
}

/** The one that was named, else the one on this data folder, else the usual address. */
function serverOf({ url, dataDir }: Config, { defaultUrl }: CliContext): string {
  return url ?? describeHolder(dataDir)?.url ?? defaultUrl;
}
