import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import type { Forget, Store } from '../store/contract.ts';
import { oneTask, startWorld, type World, type WorldOptions } from './fixtures.ts';
import { defaultSettings } from './settings.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Ends in its first commit, well or not. */
const quick = blueprint({
  name: 'quick',
  version: 1,
  states: {
    decide: {
      start: true,
      to: ['good', 'bad'],
      handle: ({ input }) => transition(input === 'bad' ? 'bad' : 'good'),
    },
    good: { end: true },
    bad: { end: 'failed' },
  },
});

interface Watched {
  readonly world: World;
  /** What was asked of the store. */
  readonly asked: Forget[];
  /** What the engine told, call by call. */
  readonly told: string[][];
}

async function startWatched(options: Partial<WorldOptions> = {}): Promise<Watched> {
  const asked: Forget[] = [];
  const told: string[][] = [];
  const wrapStore = (store: Store): Store =>
    new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          // The argument is what the contract says it is.
          if (key === 'forgetEnded') asked.push(args[0] as Forget);
          return value.apply(target, args);
        };
      },
    });
  const world = await startWorld({
    blueprints: [quick, oneTask()],
    wrapStore,
    onForgotten: (jobIds) => {
      told.push([...jobIds]);
    },
    ...options,
  });
  return { world, asked, told };
}

async function createMany(world: World, count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, () => ({
    blueprint: 'quick',
    client: 'client-1',
    input: {},
  }));
  const created = await world.engine.jobs.create(requests);
  return created.map((job) => ('id' in job ? job.id : assert.fail(job.message)));
}

test('A-46: ended jobs are kept for the age and gone within a minute afterwards', async () => {
  assert.equal(defaultSettings.retentionAgeMs, 30 * day);
  const { world, told } = await startWatched({ settings: { retentionAgeMs: 2 * hour } });
  const open = await world.create('one-task');
  const good = await world.create('quick');
  const bad = await world.create('quick', { input: 'bad' });
  await world.advance(2 * hour);
  assert.equal((await world.job(good)).status, 'finished');
  assert.deepEqual(told, []);
  await world.advance(minute);
  assert.deepEqual(told, [[good, bad]]);
  for (const id of [good, bad]) {
    assert.deepEqual([await world.truth.job(id), await world.history(id)], [null, []]);
    await assert.rejects(world.engine.jobs.get(id, 'client-1'), { code: 'JOB_NOT_FOUND' });
  }
  assert.equal((await world.job(open)).status, 'waiting_for_worker');
  assert.deepEqual((await world.truth.counts()).jobs, { waiting_for_worker: 1 });
  assert.deepEqual(world.errors, []);
});

test('A-46: of more than the number, those that ended first go, in bounded calls at once', async () => {
  const settings = { retentionAgeMs: 0, retentionCount: 100 };
  const { world, asked, told } = await startWatched({ settings });
  const ids = await createMany(world, 1_300);
  await world.advance(minute);
  assert.deepEqual(told.flat(), ids.slice(0, 1_200));
  assert.deepEqual(
    told.map((call) => call.length),
    [500, 500, 200],
  );
  assert.equal(asked.length, 3);
  assert.ok(asked.every(({ limit, olderThanMs }) => limit === 500 && olderThanMs === null));
  assert.deepEqual((await world.truth.counts()).jobs, { finished: 100 });
  await world.advance(minute);
  assert.equal(asked.length, 4);
});

test('A-46: an idle engine asks once a minute, and never where both are off', async () => {
  const idle = await startWatched();
  await idle.world.advance(10 * minute);
  assert.equal(idle.asked.length, 10);
  const off = await startWatched({ settings: { retentionAgeMs: 0, retentionCount: 0 } });
  await off.world.create('quick');
  await off.world.advance(2 * hour);
  assert.deepEqual([off.asked, off.told], [[], []]);
  assert.deepEqual((await off.world.truth.counts()).jobs, { finished: 1 });
});

test('A-46: what can not be forgotten now is forgotten a minute later, and after a restart', async () => {
  const { world, told } = await startWatched({ settings: { retentionAgeMs: hour } });
  const first = await world.create('quick');
  await world.advance(hour - minute);
  world.isStoreDown = true;
  await world.advance(2 * minute);
  assert.ok(world.errors.some((line) => line.startsWith('could not forget ended jobs')));
  world.isStoreDown = false;
  await world.advance(minute);
  assert.deepEqual(told, [[first]]);
  const second = await world.create('quick');
  await world.advance(hour / 2);
  await world.restart();
  await world.advance(hour / 2 + minute);
  assert.deepEqual(told, [[first], [second]]);
});

test('A-46: a stopping engine begins no further call', async () => {
  const { world, asked } = await startWatched({ settings: { retentionCount: 1 } });
  await createMany(world, 1_300);
  const release = world.stopAnswerOf('forgetEnded');
  await world.advance(minute);
  await world.engine.stop({ drainMs: 0 });
  release();
  await world.advance(hour);
  assert.equal(asked.length, 1);
});

test('A-46: whoever is told and fails stops no later call', async () => {
  const { world, asked } = await startWatched({
    settings: { retentionAgeMs: hour },
    onForgotten: () => Promise.reject(new Error('the file is busy')),
  });
  await world.create('quick');
  await world.advance(2 * hour);
  assert.equal(asked.length, 120);
  assert.deepEqual(world.errors, [
    'could not forget ended jobs; trying again {"error":"Error: the file is busy"}',
  ]);
});

test('A-46 S-10: an Idempotency-Key outlives its job, and answers with its id for 24 h', async () => {
  const { world, told } = await startWatched({ settings: { retentionAgeMs: hour } });
  const request = {
    blueprint: 'quick',
    client: 'client-1',
    input: {},
    idempotency: { key: 'k', bodyHash: 'h' },
  };
  const [created] = await world.engine.jobs.create([request]);
  await world.advance(day - 1);
  assert.equal(told.length, 1);
  assert.deepEqual(await world.engine.jobs.create([request]), [{ ...created, created: false }]);
  await world.advance(1);
  const [again] = await world.engine.jobs.create([request]);
  assert.ok(again !== undefined && 'created' in again && again.created);
});

test('A-46: a result for a forgotten job is refused and harms nothing', async () => {
  const { world, told } = await startWatched({ settings: { retentionAgeMs: hour } });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await world.engine.jobs.cancel(id, 'test', 'enough');
  await world.advance(2 * hour);
  assert.deepEqual(told, [[id]]);
  const answer = await worker.report(task);
  assert.deepEqual(answer, { type: 'ignored', reason: 'job_not_found' });
  assert.deepEqual(world.errors, []);
});
