import type { HistoryView, JobView } from '../client/index.ts';
import { storeName } from '../config/store-place.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ClientSession } from './command.ts';
import { exitCodes } from './exit.ts';
import { statusStyle } from './output.ts';

/** Statuses in which a job stays until somebody steps in. */
const settled = ['finished', 'failed', 'cancelled', 'quarantined'];

/**
 * Tells what happens to a job, from its first entry on, until it has ended or is quarantined.
 * The exit code says whether it ended well.
 */
export async function followJob(session: ClientSession, id: string): Promise<void> {
  const { client, print, asJson } = session;
  for await (const event of client.jobs.watch(id)) {
    if (event.type === 'progress') {
      const { fraction, message } = event.progress;
      if (asJson) print.jsonLine({ progress: event.progress });
      else print.line(progressText(fraction, message));
      continue;
    }
    tellEntry(session, event.entry);
    // The job itself decides: it may have been redriven since that entry.
    if (event.entry.type === 'job_quarantined' && isSettled(await client.jobs.get(id))) break;
  }
  tellEnd(session, await client.jobs.get(id));
}

/**
 * What is stored of a job that no server moves: to wait for more would hold the data folder and so
 * keep away the server that is missing.
 * @throws CapatazError UNREACHABLE when the job has not ended
 */
export async function tellStored(session: ClientSession, id: string): Promise<void> {
  const { client, config } = session;
  const job = await client.jobs.get(id);
  for await (const entry of client.jobs.history(id)) tellEntry(session, entry);
  if (isSettled(job)) return tellEnd(session, job);
  throw new CapatazError(
    'UNREACHABLE',
    `job ${id} is ${job.status}, and nothing moves it while no server runs on ${storeName(config.values)}`,
  );
}

function tellEntry({ print, asJson }: ClientSession, entry: HistoryView): void {
  if (asJson) print.jsonLine(entry);
  else print.entry(entry);
}

function tellEnd({ print, asJson, context }: ClientSession, job: JobView): void {
  const { id, status } = job;
  if (!asJson) print.line(`job ${id} ${print.style(statusStyle(status), status)}${reasonOf(job)}`);
  if (status !== 'finished') context.exitCode = exitCodes.failed;
}

/** The end of a job in words, where it did not end well. */
export function reasonOf({ error }: Pick<JobView, 'error'>): string {
  return error === null ? '' : `: ${error.code} ${error.message}`;
}

export function isSettled({ status }: Pick<JobView, 'status'>): boolean {
  return settled.includes(status);
}

function progressText(fraction: number | null, message: string | null): string {
  const percent = fraction === null ? '' : `${Math.round(fraction * 100)} %`;
  return ['…', percent, message ?? ''].filter((part) => part !== '').join(' ');
}
