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

const defaultUrl = 'http://127.0.0.1:8080';

export function workerCommand(context: CliContext): Command {
  const command = new Command('worker')
    .description(
      'Run a worker module: one that exports `skills`, and perhaps `name`, `concurrency`, `prefetch`, `hotSkills`, `offer`.',
    )
    .argument('<module>');
  addSettings(command, workerSettings, flagNames);
  return command.action((path: string) => runWorker(path, command, context));
}

async function runWorker(path: string, command: Command, context: CliContext): Promise<void> {
  const { values } = effectiveConfig(command, context, flagNames);
  const module = await loadWorkerModule(path, context.directory);
  const url = serverOf(values);
  const worker = workerOf(module, values, url, processLog(values, context));
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
function serverOf({ url, dataDir }: Config): string {
  return url ?? describeHolder(dataDir)?.url ?? defaultUrl;
}
