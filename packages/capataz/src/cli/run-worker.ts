import type { Config } from '../config/settings.ts';
import { CapatazError, type ErrorCode, errorCatalogue } from '../protocol/errors.ts';
import { formatDuration } from '../std/duration.ts';
import type { Log } from '../std/log.ts';
import { createWorker, TransportError, type Worker } from '../worker/index.ts';
import type { WorkerModule } from './worker-module.ts';

/** @throws CapatazError CONFIG_INVALID when the module or a setting says something impossible. */
export function workerOf(module: WorkerModule, config: Config, url: string, log: Log): Worker {
  const { workerToken, workerId, workerConcurrency, workerHeartbeat, workerDrain } = config;
  try {
    return createWorker({
      ...module.options,
      url,
      name: module.name,
      log,
      heartbeat: formatDuration(workerHeartbeat),
      drain: formatDuration(workerDrain),
      ...(workerToken === null ? {} : { token: workerToken }),
      ...(workerId === null ? {} : { id: workerId }),
      ...(workerConcurrency === null ? {} : { concurrency: workerConcurrency }),
    });
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    throw new CapatazError('CONFIG_INVALID', `${module.path}: ${error.message}`, {}, error);
  }
}

/** Starts a worker. @throws CapatazError with the server's code when it is refused for good. */
export async function startWorker(worker: Worker): Promise<void> {
  try {
    await worker.start();
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    throw new CapatazError(codeOf(error), error.message, { worker: worker.id }, error);
  }
}

function codeOf({ code, status }: TransportError): ErrorCode {
  if (code !== null && Object.hasOwn(errorCatalogue, code)) return code as ErrorCode;
  if (status === 401) return 'UNAUTHORIZED';
  return status === 403 ? 'FORBIDDEN' : 'VALIDATION_FAILED';
}
