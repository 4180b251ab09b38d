import type { LogFields } from '../std/log.ts';
import type { Store } from '../store/contract.ts';

/**
 * What a line of the log says of a job that is known only by its id. Never throws: a line without its
 * correlation id is better than none.
 */
export async function aboutJob(store: Pick<Store, 'job'>, id: string): Promise<LogFields> {
  const job = await store.job(id).catch(() => null);
  return job === null ? { job: id } : { job: id, correlation: job.correlationId };
}
