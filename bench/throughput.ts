import type { Client } from 'capataz/client';
import type { Figure } from './figures.ts';
import { Bench } from './processes.ts';
import type { Setup } from './setup.ts';

export const concurrency = 100;
const batch = 1_000;

/** N jobs are queued first; then a worker process comes and does them. */
export async function oneStep(
  setup: Setup,
  { jobs = 20_000, backlog = 0 } = {},
): Promise<Figure[]> {
  const bench = await Bench.start(setup);
  try {
    // The backlog is of lower priority, half of it for this worker, half for one that never comes.
    await queue(bench.client, 'stranded', Math.floor(backlog / 2), -1);
    await queue(bench.client, 'one-step', Math.ceil(backlog / 2), -1);
    await queue(bench.client, 'one-step', jobs, 0);
    const { seconds, cpu } = await work(bench, jobs);
    const params = { jobs, concurrency, backlog, instances: setup.instances };
    const workload = backlog === 0 ? 'one-step' : 'backlog';
    return [
      { workload, params, value: jobs / seconds, unit: 'jobs/s' },
      { workload, params, value: cpu / (jobs / 1_000), unit: 'cpu-s/1000' },
    ];
  } finally {
    await bench.stop();
  }
}

/** Three tasks one after the other. */
export async function threeStep(setup: Setup, { jobs = 8_000 } = {}): Promise<Figure[]> {
  const bench = await Bench.start(setup);
  try {
    await queue(bench.client, 'three-step', jobs, 0);
    const { seconds } = await work(bench, jobs);
    const params = { jobs, concurrency, instances: setup.instances };
    return [{ workload: 'three-step', params, value: (3 * jobs) / seconds, unit: 'steps/s' }];
  } finally {
    await bench.stop();
  }
}

export async function queue(
  client: Client,
  blueprint: string,
  count: number,
  priority: number,
): Promise<void> {
  for (let left = count; left > 0; left -= batch) {
    const some = Array.from({ length: Math.min(batch, left) }, (_, n) => ({
      input: { n },
      options: { priority },
    }));
    await client.jobs.startMany(blueprint, some);
  }
}

/**
 * From the worker's registration to the end of the last job, by the server's own book, so that
 * neither the start of a process nor the watching counts.
 */
export async function work(bench: Bench, jobs: number): Promise<{ seconds: number; cpu: number }> {
  const { client } = bench;
  const before = bench.cpuSeconds();
  bench.startWorkers(concurrency);
  const startedAt = await registration(client);
  const startup = bench.cpuSeconds() - before;
  while ((await open(client)) > 0) await pause(20);
  const cpu = bench.cpuSeconds() - before - startup;
  let last = 0;
  let seen = 0;
  for await (const job of client.jobs.all({ status: ['finished'], limit: 1_000 })) {
    if (job.priority < 0) continue;
    last = Math.max(last, Date.parse(job.ended_at ?? ''));
    seen += 1;
    if (seen === jobs) break;
  }
  return { seconds: (last - startedAt) / 1_000, cpu };
}

async function registration(client: Client): Promise<number> {
  for (;;) {
    const [worker] = await client.workers.list();
    if (worker !== undefined) return Date.parse(worker.registered_at);
    await pause(2);
  }
}

/** Whether a job of the measured priority is open: the newest are looked at first. */
async function open(client: Client): Promise<number> {
  const { jobs } = await client.jobs.list({ status: ['waiting_for_worker'], limit: 1 });
  return jobs.filter(({ priority }) => priority >= 0).length;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
