import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createClient } from 'capataz/client';
import { Dice } from 'capataz/testing';
import { Cluster } from './cluster.ts';
import { compare, startJobs, untilEnded } from './load.ts';

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
    const load = startJobs(client, { log, signal: stop.signal });
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
