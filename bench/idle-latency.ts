import { type Figure, percentile } from './figures.ts';
import { Bench } from './processes.ts';
import type { Setup } from './setup.ts';
import { queue } from './throughput.ts';

/** One job at a time on an idle system, its end told by the server's stream of events. */
export async function idleLatency(setup: Setup, { jobs = 300 } = {}): Promise<Figure[]> {
  const bench = await Bench.start(setup);
  const stop = new AbortController();
  try {
    bench.startWorker(10);
    const { client } = bench;
    const ends = new Map<string, () => void>();
    const watching = watchEnds(client.events({ signal: stop.signal }), ends);
    await queue(client, 'one-step', 20, 0);
    const starts: number[] = [];
    const results: number[] = [];
    for (let number = 0; number < jobs; number += 1) {
      const id = crypto.randomUUID();
      const ended = new Promise<void>((resolve) => ends.set(id, resolve));
      const created = performance.timeOrigin + performance.now();
      await client.jobs.start('one-step', { number }, { jobId: id });
      await ended;
      results.push(performance.timeOrigin + performance.now() - created);
      const job = await client.jobs.get(id);
      starts.push(Number(job.data.started) - created);
    }
    stop.abort();
    await watching;
    return [...figures('start', starts, jobs), ...figures('result', results, jobs)];
  } finally {
    stop.abort();
    await bench.stop();
  }
}

async function watchEnds(
  events: AsyncIterable<{ readonly job_id: string; readonly entry: { readonly type: string } }>,
  ends: ReadonlyMap<string, () => void>,
): Promise<void> {
  for await (const { job_id, entry } of events) {
    if (entry.type === 'job_finished') ends.get(job_id)?.();
  }
}

function figures(until: string, values: readonly number[], jobs: number): Figure[] {
  return [0.5, 0.99].map((share) => ({
    workload: 'idle-latency',
    params: { jobs, until, percentile: 100 * share },
    value: percentile(values, share),
    unit: 'ms',
  }));
}
