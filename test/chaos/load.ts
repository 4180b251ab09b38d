import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'capataz/client';

const taskMs = 20;
const batch = 10;
const calmLimitMs = 90_000;

export interface Load {
  /** Where the workers write their effects. */
  readonly log: string;
  readonly signal: AbortSignal;
  /** Between two batches. Default 50 ms. */
  readonly pauseMs?: number;
  /** Of no other load on the same store. */
  readonly name?: string;
}

/** A client that asks until it is told that the jobs were accepted. */
export async function startJobs(
  client: Client,
  { log, signal, pauseMs = 50, name = 'load' }: Load,
): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; !signal.aborted; number += 1) {
    const items = Array.from({ length: batch }, () => ({ input: { log, ms: taskMs } }));
    for (let accepted = false; !accepted; ) {
      try {
        const started = await client.jobs.startMany('chaos', items, {
          idempotencyKey: `${name}-${number}`,
        });
        for (const job of started) if ('jobId' in job) ids.push(job.jobId);
        accepted = true;
      } catch {
        await setTimeout(50);
      }
    }
    await setTimeout(pauseMs);
  }
  return ids;
}

export async function untilEnded(client: Client, jobs: readonly string[]): Promise<string[]> {
  const end = performance.now() + calmLimitMs;
  const open = new Set(jobs);
  while (open.size > 0 && performance.now() < end) {
    for await (const job of client.jobs.all({ limit: 1_000 })) {
      if (job.ended_at !== null || job.status === 'quarantined') open.delete(job.id);
    }
    if (open.size > 0) await setTimeout(200);
  }
  const told = [...open].map(async (id) => {
    const { summary, task } = await client.jobs.why(id);
    const book: string[] = [];
    for await (const entry of client.jobs.history(id)) book.push(JSON.stringify(entry));
    return `job ${id} has not ended: ${summary} ${JSON.stringify(task)}\n    ${book.slice(-8).join('\n    ')}`;
  });
  return Promise.all(told);
}

/** The book against the file: nothing lost, nothing doubled, no effect without an attempt. */
export async function compare(
  client: Client,
  jobs: readonly string[],
  log: string,
): Promise<string[]> {
  const problems: string[] = [];
  const effects = new Map<string, string[]>();
  for (const line of (await readFile(log, 'utf8')).trim().split('\n')) {
    const [job = '', , attempt = ''] = line.split(' ');
    effects.set(job, [...(effects.get(job) ?? []), attempt]);
  }
  const known = new Set(jobs);
  let all = 0;
  for await (const job of client.jobs.all({ limit: 1_000 })) {
    all += 1;
    if (!known.has(job.id)) problems.push(`job ${job.id} exists, and no client was told of it`);
    if (job.status !== 'finished')
      problems.push(`job ${job.id} is ${job.status}: ${job.error?.message}`);
    problems.push(...(await compareJob(client, job.id, job.data, effects.get(job.id) ?? [])));
  }
  if (all !== jobs.length) problems.push(`${jobs.length} jobs were accepted, ${all} are there`);
  return problems;
}

async function compareJob(
  client: Client,
  id: string,
  data: object,
  done: readonly string[],
): Promise<string[]> {
  const problems: string[] = [];
  const assigned = new Set<unknown>();
  let finished = 0;
  let next = 1;
  for await (const entry of client.jobs.history(id)) {
    if (entry.seq !== next) problems.push(`job ${id}: entry ${entry.seq} where ${next} was due`);
    next = entry.seq + 1;
    if (entry.type === 'task_assigned') assigned.add(entry.attempt);
    if (entry.type === 'task_finished') finished += 1;
  }
  if (finished !== 2) problems.push(`job ${id}: ${finished} results were taken for its 2 tasks`);
  if (new Set(done).size !== done.length) problems.push(`job ${id}: an attempt was begun twice`);
  for (const attempt of done) {
    if (!assigned.has(attempt))
      problems.push(`job ${id}: attempt ${attempt} was begun and never handed out`);
  }
  for (const attempt of Object.values(data)) {
    if (!done.includes(String(attempt)))
      problems.push(`job ${id}: its data is of an attempt that did nothing`);
  }
  return problems;
}
