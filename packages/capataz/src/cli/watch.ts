import type { JobView } from '../client/index.ts';
import type { ClientSession } from './command.ts';
import { exitCodes } from './exit.ts';
import { statusStyle } from './output.ts';

/** Statuses in which a job stays until somebody steps in. */
const settled = ['finished', 'failed', 'cancelled', 'quarantined'];

/**
 * Tells what happens to a job, from its first entry on, until it has ended or is quarantined.
 * The exit code says whether it ended well.
 */
export async function watchJob(
  { client, print, asJson, context }: ClientSession,
  id: string,
): Promise<void> {
  for await (const event of client.jobs.watch(id)) {
    if (event.type === 'progress') {
      const { fraction, message } = event.progress;
      if (asJson) print.jsonLine({ progress: event.progress });
      else print.line(progressText(fraction, message));
      continue;
    }
    if (asJson) print.jsonLine(event.entry);
    else print.entry(event.entry);
    // The job itself decides: it may have been redriven since that entry.
    if (event.entry.type === 'job_quarantined' && (await isSettled(client.jobs.get(id)))) break;
  }
  const job = await client.jobs.get(id);
  if (!asJson)
    print.line(`job ${id} ${print.style(statusStyle(job.status), job.status)}${reasonOf(job)}`);
  if (job.status !== 'finished') context.exitCode = exitCodes.failed;
}

/** The end of a job in words, where it did not end well. */
export function reasonOf({ error }: Pick<JobView, 'error'>): string {
  return error === null ? '' : `: ${error.code} ${error.message}`;
}

async function isSettled(job: Promise<JobView>): Promise<boolean> {
  return settled.includes((await job).status);
}

function progressText(fraction: number | null, message: string | null): string {
  const percent = fraction === null ? '' : `${Math.round(fraction * 100)} %`;
  return ['…', percent, message ?? ''].filter((part) => part !== '').join(' ');
}
