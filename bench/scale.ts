import type { Figure } from './figures.ts';
import { Bench } from './processes.ts';
import type { Setup } from './setup.ts';
import { concurrency, queue, work } from './throughput.ts';

const jobs = 10_000;
const instances = [1, 2, 4];
const backlogs = [1_000, 100_000, 1_000_000];

/** Throughput by number of instances, and by number of jobs that wait for a worker that never comes. */
export async function scale({ store }: Setup): Promise<Figure[]> {
  if (store !== 'postgres') throw new Error('scale is measured with --store postgres');
  const figures: Figure[] = [];
  for (const count of instances) figures.push(await measure(count, 0));
  for (const backlog of backlogs) figures.push(await measure(1, backlog));
  return figures;
}

async function measure(count: number, backlog: number): Promise<Figure> {
  const bench = await Bench.start({ store: 'postgres', instances: count });
  try {
    if (backlog > 0) await seed(bench, backlog);
    await queue(bench.client, 'one-step', jobs, 0);
    const { seconds } = await work(bench, jobs);
    const params = { jobs, concurrency, instances: count, backlog };
    return { workload: 'scale', params, value: jobs / seconds, unit: 'jobs/s' };
  } finally {
    await bench.stop();
  }
}

/** Tables in which a waiting job has a row. */
const tables = ['inputs', 'jobs', 'tasks', 'history'];

/** Makes one waiting job many: a million by the API would take longer than everything else. */
async function seed({ client, place }: Bench, count: number): Promise<void> {
  const jobId = '00000000-0000-7000-8000-000000000000';
  await client.jobs.start('stranded', { n: 0 }, { jobId, priority: -1 });
  for (const table of tables) await place.run(copies(table, jobId, count));
  await place.run(`SELECT setval('positions', (SELECT max(position) FROM history))`);
  await place.run('ANALYZE');
}

/** Rows like the first one, under other ids. */
function copies(table: string, id: string, count: number): string {
  const numbered = `replace(to_jsonb(t)::text, '${id}', '00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::jsonb`;
  const moved = table === 'history' ? ` || jsonb_build_object('position', position + n)` : '';
  const order = table === 'tasks' ? ` || jsonb_build_object('n', t.n + n)` : '';
  const key = table === 'inputs' || table === 'jobs' ? 'id' : 'job';
  return `INSERT INTO ${table} ${table === 'tasks' ? 'OVERRIDING SYSTEM VALUE' : ''}
    SELECT (jsonb_populate_record(NULL::${table}, ${numbered}${moved}${order})).*
    FROM ${table} t, generate_series(1, ${count - 1}) AS n WHERE t.${key} = '${id}'`;
}
