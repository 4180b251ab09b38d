import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Client, createClient } from 'capataz/client';
import { createWorker, type Worker } from 'capataz/worker';
import { Cluster } from './cluster.ts';

interface RawTask {
  readonly job_id: string;
  readonly task_id: string;
}

/** A worker of bare requests, so that it can die at any point: it simply stops asking. */
class RawWorker {
  readonly #url: string;
  readonly id: string;

  constructor(url: string, id: string) {
    this.#url = url;
    this.id = id;
  }

  async register(bootId: string, slots: number): Promise<void> {
    const extra = { boot_id: bootId, heartbeat_interval_ms: 1_000, slots, batch: true };
    const body = { worker_id: this.id, supported_skills: ['effect'], capabilities: { extra } };
    await this.#ask('POST', 'workers/register', body);
  }

  async take(max: number, seconds: number): Promise<readonly RawTask[]> {
    const path = `workers/${this.id}/tasks/next?max=${max}&timeout=${seconds}`;
    const answer = await this.#ask('GET', path);
    return (answer as { tasks?: readonly RawTask[] } | null)?.tasks ?? [];
  }

  async beat(current: readonly string[]): Promise<void> {
    await this.#ask('PATCH', `workers/${this.id}`, {
      worker_id: this.id,
      status: 'idle',
      current_tasks: current,
    });
  }

  async report({ job_id, task_id }: RawTask): Promise<void> {
    const results = [{ job_id, task_id, worker_id: this.id, status: 'success', data: {} }];
    await this.#ask('POST', 'tasks/results', { results });
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#url}/_worker/${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-worker-id': this.id },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }
}

describe('kills at chosen moments', () => {
  let folder = '';
  let cluster: Cluster;
  let client: Client;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capataz-kills-'));
    cluster = new Cluster({ folder });
    await cluster.start();
    client = createClient({ url: cluster.url });
  });

  after(async () => {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (): Promise<string> =>
    (await client.jobs.start('chaos', { log: join(folder, 'effects'), ms: 1 })).jobId;

  it('B-009 a task whose worker died right after it got it goes to another', async () => {
    const dead = new RawWorker(cluster.url, 'dead');
    await dead.register('boot-1', 1);
    const id = await start();
    const [first] = await dead.take(1, 5);
    assert.equal(first?.job_id, id);
    // Nobody hears of it again. Three silent heartbeats of a second, then a back-off.
    const other = new RawWorker(cluster.url, 'other');
    await other.register('boot-2', 1);
    const second = await takeAlive(other, 20);
    assert.equal(second.job_id, id);
    assert.notEqual(second.task_id, first?.task_id);
    await other.report(second);
    const book = [];
    for await (const entry of client.jobs.history(id)) book.push(entry);
    const lost = book.find(({ type }) => type === 'task_failed');
    assert.deepEqual([lost?.worker, lost?.reason], ['dead', 'lost']);
    await client.jobs.cancel(id);
  });

  it('B-057 a hard kill gives its slots back each time', async () => {
    const worker = new RawWorker(cluster.url, 'often-killed');
    for (let round = 1; round <= 20; round += 1) {
      await worker.register(`boot-${round}`, 2);
      const load = (await client.workers.list()).find(({ id }) => id === worker.id)?.load;
      assert.equal(load, 0, `round ${round}: slots of a dead process are still taken`);
      const ids = new Set([await start(), await start()]);
      const taken = new Set<string>();
      while (taken.size < 2) {
        const tasks = await worker.take(2, 5);
        assert.ok(tasks.length > 0, `round ${round}: nothing was handed out`);
        for (const task of tasks) {
          if (ids.has(task.job_id)) taken.add(task.job_id);
          else await worker.report(task);
        }
      }
      for (const id of ids) await client.jobs.cancel(id);
    }
  });

  it('B-007 results that meet a polite stop are recorded or sent again, never repeated', async () => {
    const effects = new Map<string, number>();
    const workers: Worker[] = Array.from({ length: 20 }, (_, index) =>
      createWorker({
        url: cluster.url,
        id: `busy-${index}`,
        concurrency: 2,
        skills: {
          effect: ({ jobId, params }) => {
            const key = `${jobId} ${params.step}`;
            effects.set(key, (effects.get(key) ?? 0) + 1);
            return {};
          },
        },
      }),
    );
    await Promise.all(workers.map((worker) => worker.start()));
    const log = join(folder, 'effects');
    const started = await client.jobs.startMany(
      'chaos',
      Array.from({ length: 1_000 }, () => ({ input: { log, ms: 0 } })),
    );
    const ids = started.map((job) => ('jobId' in job ? job.jobId : assert.fail(job)));
    while (effects.size < 200) await client.ready();
    cluster.signal('server-1', 'SIGTERM');
    await cluster.ended('server-1');
    assert.ok(effects.size < 2 * ids.length, 'everything was done before the stop');
    await cluster.startServer('server-1');
    for (const id of ids) assert.equal((await client.jobs.wait(id)).status, 'finished');
    assert.equal(effects.size, 2 * ids.length);
    assert.deepEqual(
      [...effects].filter(([, times]) => times > 1),
      [],
    );
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});

/** Polls until there is a task, with heartbeats in between, as a living worker does. */
async function takeAlive(worker: RawWorker, tries: number): Promise<RawTask> {
  for (let left = tries; left > 0; left -= 1) {
    await worker.beat([]);
    const [task] = await worker.take(1, 1);
    if (task !== undefined) return task;
  }
  return assert.fail('no task came');
}
