import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Client, createClient } from 'capataz/client';
import { Dice } from 'capataz/testing';
import { Cluster } from './cluster.ts';

export interface ChaosResult {
  readonly jobs: number;
  readonly kills: number;
  /** Empty where every rule held. */
  readonly problems: readonly string[];
}

export interface ChaosOptions {
  readonly seed: number;
  readonly seconds: number;
  /** PostgreSQL, on which two servers work. Default: one server on SQLite. */
  readonly storeUrl?: string;
}

const workers = ['chaos-1', 'chaos-2', 'chaos-3'];
const taskMs = 20;
const batch = 10;
const calmLimitMs = 90_000;

/**
 * Real processes under load, killed, stopped and ended at random for so long, then calm. What the
 * workers did is counted in a file; the book and the file must agree.
 */
export async function chaos({ seed, seconds, storeUrl }: ChaosOptions): Promise<ChaosResult> {
  const folder = await mkdtemp(join(tmpdir(), 'capataz-chaos-'));
  const shared = storeUrl === undefined ? {} : { storeUrl, servers: 2 };
  const cluster = new Cluster({ folder, ...shared });
  try {
    await cluster.start();
    for (const name of workers) cluster.startWorker(name);
    const log = join(folder, 'effects');
    const client = createClient({ url: cluster.url });
    const stop = new AbortController();
    const load = startJobs(client, log, stop.signal);
    const kills = await rage(cluster, new Dice(seed), seconds * 1_000);
    stop.abort();
    await calmDown(cluster);
    const jobs = await load;
    const stuck = await untilEnded(client, jobs);
    return {
      jobs: jobs.length,
      kills,
      problems: [...stuck, ...(await compare(client, jobs, log))],
    };
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A client that asks until it is told that the jobs were accepted. */
async function startJobs(client: Client, log: string, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; !signal.aborted; number += 1) {
    const items = Array.from({ length: batch }, () => ({ input: { log, ms: taskMs } }));
    for (let accepted = false; !accepted; ) {
      try {
        const started = await client.jobs.startMany('chaos', items, {
          idempotencyKey: `batch-${number}`,
        });
        for (const job of started) if ('jobId' in job) ids.push(job.jobId);
        accepted = true;
      } catch {
        await setTimeout(50);
      }
    }
    await setTimeout(50);
  }
  return ids;
}

async function rage(cluster: Cluster, dice: Dice, forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  let kills = 0;
  while (performance.now() < end) {
    await setTimeout(dice.between(100, 900));
    const name = dice.pick([...cluster.servers, ...workers]);
    if (!cluster.isUp(name)) continue;
    kills += 1;
    const deed = dice.pick(['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGSTOP'] as const);
    cluster.signal(name, deed);
    await setTimeout(dice.between(0, 700));
    cluster.signal(name, 'SIGCONT');
    await revive(cluster);
  }
  return kills;
}

async function revive(cluster: Cluster): Promise<void> {
  for (const name of cluster.servers) if (!cluster.isUp(name)) await cluster.startServer(name);
  for (const name of workers) if (!cluster.isUp(name)) cluster.startWorker(name);
}

/** What is still about to end by SIGTERM may be gone a moment later. */
async function calmDown(cluster: Cluster): Promise<void> {
  for (const name of [...cluster.servers, ...workers]) cluster.signal(name, 'SIGCONT');
  for (let look = 0; look < 20; look += 1) {
    await revive(cluster);
    await setTimeout(100);
  }
}

async function untilEnded(client: Client, jobs: readonly string[]): Promise<string[]> {
  const end = performance.now() + calmLimitMs;
  const open = new Set(jobs);
  while (open.size > 0 && performance.now() < end) {
    for await (const job of client.jobs.all({ limit: 1_000 })) {
      if (job.ended_at !== null || job.status === 'quarantined') open.delete(job.id);
    }
    if (open.size > 0) await setTimeout(200);
  }
  return [...open].map((id) => `job ${id} has not ended`);
}

/** The book against the file: nothing lost, nothing doubled, no effect without an attempt. */
async function compare(client: Client, jobs: readonly string[], log: string): Promise<string[]> {
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
