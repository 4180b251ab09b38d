import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Client } from 'capataz/client';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { asOperator } from './kinds.ts';
import { Scene } from './scene.ts';

const timers = 1_000;
const blueprints = fileURLToPath(new URL('blueprints', import.meta.url));
const schedules = '[tick]\nblueprint = "tick"\nevery = "1s"\ntolerance = "1m"\n';
/** Longer than the lease: whatever is written meanwhile is written late. */
const slowSeconds = 3.5;

describe('an instance that is slower than its leases live, beside another', () => {
  let scene: Scene;

  before(async () => {
    scene = await Scene.open({
      workers: [],
      cluster: { blueprints },
      config: 'handler_lease = "3s"',
      schedules,
    });
  });

  after(() => scene.close());

  it('B-022 two instances: one is frozen for 10 s in the middle of a tick, and thawed', async () => {
    const { client, cluster } = scene;
    const ids = await nap(client, '4s');
    await until(async () => (await finished(client, 'nap')) > 0);
    cluster.signal('server-1', 'SIGSTOP');
    await delay(systemClock, 10_000);
    cluster.signal('server-1', 'SIGCONT');
    await holds(scene, ids);
  });

  it('B-022 two instances: the database is slower than a lease lives', async () => {
    const { client, postgres } = scene;
    const ids = await nap(client, '2s');
    await asOperator(postgres.url, [
      `CREATE FUNCTION capataz.slow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(${slowSeconds}); RETURN NULL; END $$`,
      `CREATE TRIGGER slow AFTER INSERT ON capataz.history EXECUTE FUNCTION capataz.slow()`,
    ]);
    await delay(systemClock, 4 * slowSeconds * 1_000);
    await asOperator(postgres.url, ['DROP TRIGGER slow ON capataz.history']);
    await holds(scene, ids);
  });
});

async function nap(client: Client, length: string): Promise<string[]> {
  const items = Array.from({ length: timers }, () => ({ input: length }));
  const started = await client.jobs.startMany('nap', items);
  return started.map((job) => ('jobId' in job ? job.jobId : assert.fail('refused')));
}

async function finished(client: Client, blueprint: string): Promise<number> {
  const page = await client.jobs.list({ blueprint, status: ['finished'], limit: 1 });
  return page.jobs.length;
}

/** Each timer has fired once, each slot has one job, and no late write has counted. */
async function holds({ client }: Scene, ids: readonly string[]): Promise<void> {
  for (const id of ids) assert.equal((await client.jobs.wait(id)).status, 'finished');
  for (const id of ids) {
    const types: string[] = [];
    for await (const entry of client.jobs.history(id)) types.push(`${entry.type} ${entry.state}`);
    const entered = types.filter((type) => type === 'state_entered wake');
    assert.equal(entered.length, 1, `job ${id}: ${types}`);
    assert.equal(types.filter((type) => type.startsWith('job_finished')).length, 1);
  }
  const slots: unknown[] = [];
  for await (const job of client.jobs.all({ blueprint: 'tick', limit: 1_000 }))
    slots.push(job.attributes.slot);
  assert.ok(slots.length > 5, `only ${slots.length} slots`);
  assert.equal(new Set(slots).size, slots.length);
}
