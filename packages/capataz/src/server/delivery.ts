import type { ServerResponse } from 'node:http';
import type { Task } from '../core/job.ts';
import type { ServerContext } from './context.ts';

/**
 * Tells the engine what became of a reply with tasks: flushed to the connection, or cut before.
 * Call it before the reply is sent.
 * @returns false when the connection is gone already: nothing is to be sent.
 */
export function watchDelivery(
  { engine, log }: ServerContext,
  response: ServerResponse,
  worker: string,
  tasks: readonly Task[],
): boolean {
  if (tasks.length === 0) return true;
  let isFlushed = false;
  const giveBack = (): void => {
    if (isFlushed) return;
    engine.workers.undelivered(worker, tasks).catch((error: unknown) => {
      // Not lost: an attempt that nobody shows a sign of is given up after one silence (S-23).
      log.error('undelivered tasks could not be given back', { worker, error });
    });
  };
  if (response.destroyed) {
    giveBack();
    return false;
  }
  response.once('finish', () => {
    isFlushed = true;
    engine.workers.delivered(worker, tasks);
  });
  response.once('close', giveBack);
  return true;
}
