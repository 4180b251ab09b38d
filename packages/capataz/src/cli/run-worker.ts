import type { Config } from '../config/settings.ts';
import { CapatazError, type ErrorCode, errorCatalogue } from '../protocol/errors.ts';
import { formatDuration } from '../std/duration.ts';
import type { Log } from '../std/log.ts';
import { createWorker, TransportError, type Worker } from '../worker/index.ts';
import { defaultWorkerId } from '../worker/options.ts';
import type { WorkerModule } from './worker-module.ts';
import { claimSlot } from './worker-slot.ts';

/**
 * A worker with the id of the settings, else one that no other living process of this host has.
 * @throws CapatazError CONFIG_INVALID when the module or a setting says something impossible.
 */
export async function workerOf(
  module: WorkerModule,
  config: Config,
  url: string,
  log: Log,
): Promise<Worker> {
  if (config.workerId !== null) return workerWithId(config.workerId, { module, config, url, log });
  const usual = defaultWorkerId(module.name);
  const { id, number, release } = await claimSlot(usual);
  if (number > 1) log.info(`another worker ${usual} runs on this host`, { worker: id });
  try {
    const worker = workerWithId(id, { module, config, url, log });
    void worker.stopped.then(release);
    return worker;
  } catch (error) {
    await release();
    throw error;
  }
}

interface WorkerParts {
  readonly module: WorkerModule;
  readonly config: Config;
  readonly url: string;
  readonly log: Log;
}

function workerWithId(id: string, { module, config, url, log }: WorkerParts): Worker {
  const { workerToken, workerConcurrency, workerHeartbeat, workerDrain } = config;
  try {
    return createWorker({
      ...module.options,
      url,
      id,
      log,
      heartbeat: formatDuration(workerHeartbeat),
      drain: formatDuration(workerDrain),
      ...(workerToken === null ? {} : { token: workerToken }),
      ...(workerConcurrency === null ? {} : { concurrency: workerConcurrency }),
    });
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    const details = { module: module.path };
    throw new CapatazError('CONFIG_INVALID', `${module.path}: ${error.message}`, details, error);
  }
}

/** Starts a worker. @throws CapatazError with the server's code when it is refused for good. */
export async function startWorker(worker: Worker): Promise<void> {
  try {
    await worker.start();
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const code = codeOf(error);
    const hint = code === 'UNAUTHORIZED' || code === 'FORBIDDEN' ? tokenHint : null;
    const details = { worker: worker.id, ...(hint === null ? {} : { hint }) };
    throw new CapatazError(code, error.message, details, error);
  }
}

const tokenHint =
  "Give this worker's token with --token or CAPATAZ_WORKER_TOKEN, and with --id the id that it is for.";

function codeOf({ code, status }: TransportError): ErrorCode {
  if (code !== null && Object.hasOwn(errorCatalogue, code)) return code as ErrorCode;
  if (status === 401) return 'UNAUTHORIZED';
  return status === 403 ? 'FORBIDDEN' : 'VALIDATION_FAILED';
}
