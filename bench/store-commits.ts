import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createMemoryStore } from 'capataz/store/memory';
import { openPostgresStore } from 'capataz/store/postgres';
import { openSqliteStore } from 'capataz/store/sqlite';
import pg from 'pg';
import { systemClock } from '../packages/capataz/src/std/clock.ts';
import type { Figure } from './figures.ts';
import { Crew, seed } from './store-work.ts';

/**
 * What a store does with the commits that the engine makes, without the engine: JSON lines of jobs or
 * steps a second, and the CPU that they cost us and the server.
 *
 *     node --conditions=capataz-source bench/store-commits.ts [--store postgres|sqlite|memory]
 *       [--workload one-step|three-step|churn]… [--callers 2] [--batch 100] [--jobs 8000] [--backlog 0]
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    workload: { type: 'string', multiple: true, default: ['one-step', 'three-step', 'churn'] },
    /** Commits that are under way at once, each of `batch` ends and hand-outs. */
    callers: { type: 'string', default: '2' },
    batch: { type: 'string', default: '100' },
    jobs: { type: 'string', default: '8000' },
    backlog: { type: 'string', default: '0' },
    url: { type: 'string', default: 'postgres://postgres@127.0.0.1:5432/postgres' },
  },
});
const [callers = 0, batch = 0, jobs = 0, backlog = 0] = [
  values.callers,
  values.batch,
  values.jobs,
  values.backlog,
].map(Number);

interface OpenedStore {
  readonly store: ReturnType<typeof createMemoryStore>;
  /** CPU seconds of the server's processes that work for it. */
  readonly serverCpu: () => Promise<number>;
  /** Seeding has left work behind: each run is to begin alike. */
  readonly settle: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

async function openPostgres(): Promise<OpenedStore> {
  const schema = `bench_${randomUUID().replaceAll('-', '')}`;
  const admin = new pg.Client({ connectionString: values.url });
  await admin.connect();
  const store = await openPostgresStore({ url: `${values.url}?schema=${schema}` });
  const serverCpu = async (): Promise<number> => {
    const { rows } = await admin.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE application_name = $1',
      [`capataz ${schema}`],
    );
    return rows.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  };
  const remove = async (): Promise<void> => {
    await store.close();
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  };
  const settle = async (): Promise<void> => void (await admin.query('CHECKPOINT'));
  return { store, serverCpu, settle, remove };
}

/** Linux counts in hundredths of a second. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function openSqlite(): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-bench-store-'));
  const store = await openSqliteStore({ folder, clock: systemClock });
  const remove = async (): Promise<void> => {
    await store.close();
    rmSync(folder, { recursive: true });
  };
  return { store, serverCpu: async () => 0, settle: async () => undefined, remove };
}

const openers: Readonly<Record<string, () => Promise<OpenedStore>>> = {
  postgres: openPostgres,
  sqlite: openSqlite,
  memory: async () => ({
    store: createMemoryStore({ clock: systemClock }),
    serverCpu: async () => 0,
    settle: async () => undefined,
    remove: async () => undefined,
  }),
};

/** Steps of a job; `churn` starts another job with each end. */
const stepsOf: Readonly<Record<string, number>> = { 'one-step': 1, 'three-step': 3, churn: 1 };

async function measure(workload: string): Promise<Figure[]> {
  const open = openers[values.store];
  const steps = stepsOf[workload];
  if (open === undefined || steps === undefined)
    throw new Error(`there is no store "${values.store}", or no workload "${workload}"`);
  const { store, serverCpu, settle, remove } = await open();
  try {
    const params = { jobs, callers, batch, backlog };
    // What waits before the measured work is of lower priority, as what nobody asks for yet.
    await seed(store, backlog, -1);
    const isChurn = workload === 'churn';
    const known = await seed(store, isChurn ? Math.min(jobs, callers * batch * 2) : jobs);
    await settle();
    const [serverBefore, before, start] = [
      await serverCpu(),
      process.cpuUsage(),
      performance.now(),
    ];
    const crew = new Crew(store, { batch, steps, jobs, startsAnother: isChurn, known });
    await Promise.all(Array.from({ length: callers }, () => crew.work()));
    const seconds = (performance.now() - start) / 1_000;
    const { user, system } = process.cpuUsage(before);
    const server = (await serverCpu()) - serverBefore;
    const done = (jobs * steps) / 1_000;
    return [
      { workload, params, value: (done * 1_000) / seconds, unit: steps > 1 ? 'steps/s' : 'jobs/s' },
      { workload, params, value: (user + system) / 1e6 / done, unit: 'own-cpu-s/1000' },
      { workload, params, value: server / done, unit: 'server-cpu-s/1000' },
    ];
  } finally {
    await remove();
  }
}

for (const workload of values.workload) {
  for (const figure of await measure(workload)) {
    const value = Number(figure.value.toPrecision(4));
    console.log(JSON.stringify({ ...figure, store: values.store, value }));
  }
}
