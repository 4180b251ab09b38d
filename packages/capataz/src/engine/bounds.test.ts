/** What bounds the engine: what it remembers, what one commit hands out, and a store that refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { systemRandom } from '../std/random.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { newJob } from '../testing/store-suite-kit.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createEngine } from './engine.ts';
import { oneTask, startWorld, storeWith } from './fixtures.ts';
import { JobCache } from './job-cache.ts';

test('jobs with large payloads are not remembered, and a job that grows is forgotten', () => {
  const cache = new JobCache();
  const job = newJob('a', { version: 1 });
  cache.put(job);
  assert.equal(cache.get('a'), job);
  const large = 'x'.repeat(4_096);
  for (const grown of [
    { input: large },
    { data: { large } },
    { data: { list: Array(512).fill(0) } },
  ]) {
    cache.put(job);
    cache.put({ ...job, version: 2, ...grown });
    assert.equal(cache.get('a'), undefined);
  }
});

test('a claim that was cut because its commit was full is made again at once', async () => {
  let cuts = 0;
  const world = await startWorld({
    blueprints: [oneTask()],
    wrapStore: (store) =>
      storeWith(store, {
        commit: async (work) => {
          const { claims = [] } = work;
          if (claims.length === 0 || cuts > 0) return store.commit(work);
          cuts += 1;
          const outcome = await store.commit({ ...work, claims: [] });
          return { ...outcome, claims: claims.map(() => ({ tasks: [], drained: [], cut: true })) };
        },
      }),
  });
  const id = await world.create('one-task');
  const worker = await world.worker('w1');
  const poll = worker.poll({ timeoutMs: 300_000 });
  await world.settle();
  assert.equal(cuts, 1);
  assert.equal((await world.task(id)).status, 'ASSIGNED');
  assert.equal((await poll)[0]?.jobId, id);
});

test('the engine is unhealthy while the store refuses writes, and recovers without traffic', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  assert.equal(world.engine.healthy, true);
  world.isStoreDown = true;
  for (let times = 0; times < 2; times += 1) {
    await assert.rejects(world.create('one-task'), { code: 'STORE_UNAVAILABLE' });
  }
  await world.advance(10_000);
  assert.deepEqual([world.engine.healthy, world.engine.ready], [false, true]);
  const told = world.errors.filter((line) => line.startsWith('the store refuses writes'));
  assert.equal(told.length, 1);
  world.isStoreDown = false;
  await world.advance(1_000);
  assert.equal(world.engine.healthy, true);
});

test('a handler that breaks off outside of its own code is logged, and tried again', async () => {
  const clock = new VirtualClock();
  const store = createMemoryStore({ clock });
  const { log, lines } = listeningLog();
  let asked = 0;
  const engine = createEngine({
    store,
    blueprints: [
      blueprint({
        name: 'runs',
        version: 1,
        states: {
          go: { start: true, to: ['done'], run: async () => transition('done') },
          done: { end: true },
        },
      }),
    ],
    clock,
    random: systemRandom,
    instance: 'test',
    // The first decides about the creation, the second is the handler's.
    client: (name) => {
      asked += 1;
      if (asked === 2) throw new Error('no such client');
      return { name, plan: null, params: {} };
    },
    log,
  });
  await engine.start();
  const [created] = await engine.jobs.create([{ blueprint: 'runs', client: 'c', input: {} }]);
  assert.ok(created !== undefined && 'id' in created);
  await clock.advance(120_000);
  const errors = lines.filter(({ level }) => level === 'error');
  assert.deepEqual(
    errors.map(({ message, fields }) => `${message}: ${fields.error}`),
    ['a handler broke off: Error: no such client'],
  );
  assert.equal((await store.job(created.id))?.status, 'finished');
  await engine.stop({ drainMs: 0 });
});
