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

/** Tables in which a waiting job has a row, by their column of its id. */
const tables = { inputs: 'id', jobs: 'id', tasks: 'job', history: 'job' };

/** Makes one waiting job many: a million by the API would take longer than everything else. */
async function seed({ client, place }: Bench, count: number): Promise<void> {
  const id = '00000000-0000-7000-8000-000000000000';
  await client.jobs.start('stranded', { n: 0 }, { jobId: id, priority: -1 });
  const copied = Object.entries(tables).map(([table, key]) => copies(table, key, id, count));
  // In one transaction: a job without its task is in limbo, and the watchdog says so.
  await place.run(`BEGIN; ${copied.join('; ')}; ${numbersGoOn}; COMMIT; ANALYZE`);
}

/** Rows like the first one, under other ids and numbers. */
function copies(table: string, key: string, id: string, count: number): string {
  const other = `'00000000-0000-7000-8000-' || lpad(copy.number::text, 12, '0')`;
  const named = `replace(to_jsonb(t)::text, '${id}', ${other})::jsonb`;
  const numbered = `(SELECT coalesce(jsonb_object_agg(key, value::bigint + copy.number), '{}')
    FROM jsonb_each_text(to_jsonb(t)) WHERE key IN ('n', 'position'))`;
  return `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT other.*
    FROM ${table} t CROSS JOIN generate_series(1, ${count - 1}) AS copy (number)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::${table}, ${named} || ${numbered}) AS other
    WHERE t.${key} = '${id}'`;
}

const numbersGoOn = `SELECT setval('positions', (SELECT max(position) FROM history)),
  setval(pg_get_serial_sequence('jobs', 'n'), (SELECT max(n) FROM jobs)),
  setval(pg_get_serial_sequence('tasks', 'n'), (SELECT max(n) FROM tasks))`;
