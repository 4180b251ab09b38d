import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'capataz/client';
import type { Figure } from './figures.ts';
import { Bench } from './processes.ts';
import type { Setup } from './setup.ts';

const jobs = 1_000;
const concurrency = 10;
const taskMs = 10;

/** kill -9 in the middle of 1,000 jobs, started again at once: how long until all are done. */
export async function recovery(setup: Setup): Promise<Figure[]> {
  return [...(await killWorker(setup)), ...(await killServer(setup))];
}

async function killWorker(setup: Setup): Promise<Figure[]> {
  const bench = await Bench.start(setup);
  try {
    const log = join(bench.dataDir, 'effects');
    const worker = bench.startWorker(concurrency);
    const ids = await start(bench.client, log);
    await until(() => count(log, 'end').size >= jobs / 2);
    worker.kill('SIGKILL');
    const killedAt = performance.now();
    bench.startWorker(concurrency);
    await allDone(bench.client, ids);
    return figures('worker', performance.now() - killedAt, log);
  } finally {
    await bench.stop();
  }
}

async function killServer(setup: Setup): Promise<Figure[]> {
  const bench = await Bench.start(setup);
  try {
    const log = join(bench.dataDir, 'effects');
    bench.startWorker(concurrency);
    const ids = await start(bench.client, log);
    await until(() => count(log, 'end').size >= jobs / 2);
    await bench.killServer();
    await bench.startServer();
    const listeningAt = performance.now();
    const leftMs = (jobs - count(log, 'end').size) * (taskMs / concurrency);
    await allDone(bench.client, ids);
    const figure = figures('server', performance.now() - listeningAt, log);
    return [
      ...figure,
      {
        workload: 'recovery',
        params: { killed: 'server', what: 'work left' },
        value: leftMs / 1_000,
        unit: 's',
      },
    ];
  } finally {
    await bench.stop();
  }
}

async function start(client: Client, log: string): Promise<ReadonlySet<string>> {
  const items = Array.from({ length: jobs }, () => ({ input: { log, ms: taskMs } }));
  const started = await client.jobs.startMany('counted', items);
  return new Set(started.map((job) => ('jobId' in job ? job.jobId : String(job))));
}

async function allDone(client: Client, ids: ReadonlySet<string>): Promise<void> {
  const open = new Set(ids);
  for await (const { job_id, entry } of client.events()) {
    if (entry.type === 'job_finished') open.delete(job_id);
    if (open.size === 0) return;
  }
}

function figures(killed: string, ms: number, log: string): Figure[] {
  const twice = (word: string): number =>
    [...count(log, word).values()].filter((times) => times > 1).length;
  const figure = (what: string, value: number, unit: string): Figure => ({
    workload: 'recovery',
    params: { killed, what, jobs, concurrency },
    value,
    unit,
  });
  return [
    figure('until all are done', ms / 1_000, 's'),
    figure('started twice', twice('start'), 'jobs'),
    figure('finished twice', twice('end'), 'jobs'),
  ];
}

/** How often the word was written for each job. */
function count(log: string, word: string): Map<string, number> {
  const times = new Map<string, number>();
  let text = '';
  try {
    text = readFileSync(log, 'utf8');
  } catch {
    // Nothing has begun yet.
  }
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${word} `)) continue;
    times.set(line, (times.get(line) ?? 0) + 1);
  }
  return times;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
