import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, sleep, transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { Job } from '../core/job.ts';
import { holding, type Shares } from '../core/share-actions.ts';
import { CapatazError } from '../protocol/errors.ts';
import { ending } from '../testing/store-suite-kit.ts';
import { oneTask, startWorld, storeWith, type World } from './fixtures.ts';

const two = { key: 'k', limit: 2, onBusy: 'queue' } as const;

async function statesOf(world: World, ids: readonly string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await world.job(id)).status));
}

test('S-33 at most n jobs of one key; the others wait and go on in order, as places are freed in every ending', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w', { slots: 10, batch: true });
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) ids.push(await world.create('one-task', { concurrency: two }));
  const working = 'waiting_for_worker';
  assert.deepEqual(await statesOf(world, ids), [working, working, ...Array(4).fill('pending')]);
  const [first, second] = await worker.take(10);
  assert(first !== undefined && second !== undefined);
  await worker.report(first);
  await world.settle();
  assert.equal((await world.job(ids[2] ?? '')).status, working);
  await worker.fail(second, 'INVALID_INPUT_ERROR');
  await world.settle();
  assert.equal((await world.job(ids[3] ?? '')).status, working);
  await world.engine.jobs.cancel(ids[2] ?? '', 'ana', 'no');
  await world.settle();
  assert.deepEqual(await statesOf(world, ids.slice(4)), [working, 'pending']);
  for (let left = 3; left > 0; left -= 1)
    for (const task of await worker.take(10)) {
      await worker.report(task);
      await world.settle();
    }
  assert.deepEqual(await statesOf(world, ids.slice(3)), Array(3).fill('finished'));
});

test('S-33 S-32 what waits for a key survives a restart, and who comes later does not overtake', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w', { slots: 10, batch: true });
  const one = { key: 'k', limit: 1, onBusy: 'queue' } as const;
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1) ids.push(await world.create('one-task', { concurrency: one }));
  const task = await worker.takeOne();
  await world.restart();
  await worker.register();
  const release = world.stopAt('due');
  await worker.report(task);
  ids.push(await world.create('one-task', { concurrency: one }));
  assert.equal((await world.job(ids[2] ?? '')).status, 'pending');
  release();
  await world.advance(61_000);
  assert.deepEqual(await statesOf(world, ids), ['finished', 'waiting_for_worker', 'pending']);
});

test('S-33 a place that is given back between the refusal and the wait for it is not overlooked', async () => {
  let holder: Job | null = null;
  const world = await startWorld({
    blueprints: [oneTask()],
    wrapStore: (store) =>
      storeWith(store, {
        commit: async (work) => {
          const outcome = await store.commit(work);
          const isRefused = outcome.changes.some(({ type }) => type === 'limit');
          if (isRefused && holder !== null)
            await store.commit({ changes: [{ change: ending(holder) }] });
          return outcome;
        },
      }),
  });
  const one = { key: 'k', limit: 1, onBusy: 'queue' } as const;
  holder = await world.job(await world.create('one-task', { concurrency: one }));
  const id = await world.create('one-task', { concurrency: one });
  await world.settle();
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('S-64 many who want several keys at once do not keep each other from them', async () => {
  const greedy = blueprint({
    name: 'greedy',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['hold'],
        handle: (job) => {
          const keys = (job.input as unknown as { readonly keys: readonly string[] }).keys;
          return holding(transition('hold'), { reserve: keys.map((key) => ({ key, limit: 1 })) });
        },
      },
      hold: { to: ['done'], handle: () => sleep('1s', 'done') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [greedy] });
  const ids: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const keys = n % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
    ids.push(await world.create('greedy', { input: { keys } }));
  }
  await world.advance(13_000);
  assert.deepEqual(await statesOf(world, ids), Array(12).fill('finished'));
});

test('S-33 onBusy refuse and skip start no job, and say so', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const one = { key: 'k', limit: 1 } as const;
  await world.create('one-task', { concurrency: { ...one, onBusy: 'skip' } });
  for (const [onBusy, code] of [
    ['refuse', 'LIMIT'],
    ['skip', 'SKIPPED'],
  ] as const) {
    await assert.rejects(
      world.create('one-task', { concurrency: { ...one, onBusy } }),
      (error) => error instanceof CapatazError && error.code === code,
    );
  }
  assert.equal((await world.engine.jobs.list({ limit: 10 })).length, 1);
});

test('S-33 at most n tasks of one key; a place is free when its wait ends', async () => {
  const options = { concurrencyKey: { key: 'printer', limit: 1 } };
  const world = await startWorld({ blueprints: [oneTask(options)] });
  const worker = await world.worker('w', { slots: 10, batch: true });
  const ids = [await world.create('one-task'), await world.create('one-task')];
  assert.deepEqual(await statesOf(world, ids), ['waiting_for_worker', 'waiting_for_timer']);
  await worker.report(await worker.takeOne());
  await world.settle();
  assert.deepEqual(await statesOf(world, ids), ['finished', 'waiting_for_worker']);
});

/** Reserves, then does what `then` says, and ends. */
function spender(shares: Shares<'full' | 'used'>, then: Shares<never> = {}): Blueprint {
  return blueprint({
    name: 'spender',
    version: 1,
    states: {
      take: {
        start: true,
        to: ['use', 'full'],
        handle: () => holding(transition('use'), shares as never),
      },
      use: { to: ['used'], handle: () => holding(sleep('10s', 'used'), then) },
      used: { end: true, to: [], handle: () => finish('used') },
      full: { end: true, handle: () => finish('full') },
    },
  });
}

test('S-64 a budget: what was settled stays used until it expires, the rest is free at once', async () => {
  const budget = [{ key: 'month', amount: 6, limit: 10, expiresAfter: '1h' as const }];
  const world = await startWorld({
    blueprints: [
      spender(
        { reserve: budget, onLimit: { to: 'full' } },
        { settle: [{ key: 'month', amount: 2 }] },
      ),
    ],
  });
  const result = async (id: string): Promise<unknown> => (await world.job(id)).result;
  const first = await world.create('spender');
  const second = await world.create('spender');
  // Each took 6 and settled 2 in the same commit: 4 are used, 6 more fit once.
  const third = await world.create('spender');
  await world.advance(11_000);
  assert.deepEqual(await Promise.all([first, second, third].map(result)), ['used', 'used', 'used']);
  assert.equal(await result(await world.create('spender')), 'full');
  await world.advance(3_600_000);
  const later = await world.create('spender');
  await world.advance(11_000);
  assert.equal(await result(later), 'used');
});

test('S-64 onLimit names a state, or fails, or waits', async () => {
  const reserve = [{ key: 'k', limit: 1 }];
  for (const [onLimit, status, result] of [
    [{ to: 'full' }, 'finished', 'full'],
    ['fail', 'failed', null],
    ['queue', 'waiting_for_timer', null],
  ] as const) {
    const world = await startWorld({ blueprints: [spender({ reserve, onLimit })] });
    await world.create('spender');
    const job = await world.job(await world.create('spender'));
    assert.deepEqual([job.status, job.result], [status, result], String(onLimit));
    await world.advance(21_000);
    const end = await world.job(job.id);
    assert.equal(end.result, onLimit === 'queue' ? 'used' : result);
  }
});

test('S-33 release gives a key back before the job ends', async () => {
  const world = await startWorld({
    blueprints: [spender({ reserve: [{ key: 'k', limit: 1 }] }, { release: ['k'] })],
  });
  const ids = [await world.create('spender'), await world.create('spender')];
  assert.deepEqual(await statesOf(world, ids), ['waiting_for_timer', 'waiting_for_timer']);
  await world.advance(10_500);
  assert.deepEqual(await statesOf(world, ids), ['finished', 'finished']);
});

test('S-64 retries reserve anew, and hold one share', async () => {
  let throws = 2;
  const machine = blueprint({
    name: 'flaky',
    version: 1,
    states: {
      take: {
        start: true,
        to: ['done'],
        retry: { base: '1s', jitter: 0 },
        handle: () => {
          throws -= 1;
          if (throws >= 0) throw new Error('not yet');
          return holding(dispatch('work', {}, { on: { success: 'done' } }), {
            reserve: [{ key: 'k', limit: 1 }],
          });
        },
      },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [machine] });
  const id = await world.create('flaky');
  await world.advance(4_000);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('S-64 a share that could never be had fails the handler at once', async () => {
  const world = await startWorld({
    blueprints: [spender({ reserve: [{ key: 'k', amount: 3, limit: 2 }] })],
  });
  const [entry] = await world.entries(await world.create('spender'), 'handler_failed');
  assert.match(entry?.reason ?? '', /amount 3, limit 2/);
});
