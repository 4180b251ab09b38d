import { resolve } from 'node:path';
import type { Client } from 'capataz/client';
import { findFiles } from './files.ts';
import type { Digest, Report } from './report.ts';

export interface DigestOptions {
  readonly folder: string;
  /** Each step of a file takes at least this long. */
  readonly paceMs: number;
  readonly onProgress: (done: number, total: number) => void;
}

const batch = 500;
const ended: ReadonlySet<string> = new Set([
  'job_finished',
  'job_failed',
  'job_cancelled',
  'job_quarantined',
]);

/** Starts a job for every file below the folder and collects what became of each. */
export async function digestFolder(client: Client, options: DigestOptions): Promise<Report> {
  const folder = resolve(options.folder);
  const found = await findFiles(folder);
  const jobs = await startJobs(client, folder, found.files, options.paceMs);
  await waitForAll(client, new Set(jobs.keys()), (done) => options.onProgress(done, jobs.size));
  return { folder, ...found, digests: await collect(client, jobs) };
}

/** @returns job id → file */
async function startJobs(
  client: Client,
  folder: string,
  files: readonly string[],
  paceMs: number,
): Promise<Map<string, string>> {
  const jobs = new Map<string, string>();
  for (let first = 0; first < files.length; first += batch) {
    const some = files.slice(first, first + batch);
    const started = await client.jobs.startMany(
      'digest',
      some.map((file) => ({ input: { file: resolve(folder, file), pace_ms: paceMs } })),
    );
    for (const [index, job] of started.entries()) {
      if (!('jobId' in job)) throw job;
      jobs.set(job.jobId, some[index] ?? '');
    }
  }
  return jobs;
}

/** Follows the server's live events; a server that dies meanwhile is found again when it is back. */
async function waitForAll(
  client: Client,
  open: Set<string>,
  onProgress: (done: number) => void,
): Promise<void> {
  const total = open.size;
  onProgress(0);
  if (total === 0) return;
  for await (const { job_id, entry } of client.events()) {
    if (!ended.has(entry.type) || !open.delete(job_id)) continue;
    onProgress(total - open.size);
    if (open.size === 0) return;
  }
}

async function collect(client: Client, jobs: ReadonlyMap<string, string>): Promise<Digest[]> {
  const digests: Digest[] = [];
  for await (const job of client.jobs.all({ blueprint: 'digest', limit: 1_000 })) {
    const file = jobs.get(job.id);
    if (file === undefined) continue;
    const outcome =
      job.status === 'finished' ? job.state : `${job.status}: ${job.error?.message ?? ''}`;
    digests.push({ file, outcome, data: job.data });
    if (digests.length === jobs.size) break;
  }
  return digests.sort((a, b) => (a.file < b.file ? -1 : 1));
}
