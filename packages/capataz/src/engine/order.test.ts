import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { oneTask, type ScriptedWorker, startWorld, type World } from './fixtures.ts';

async function createMany(
  world: World,
  names: readonly string[],
  fields: Parameters<World['create']>[1] = {},
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const name of names) ids.set(await world.create('one-task', fields), name);
  return ids;
}

/** Takes and reports one task after another, and says whose they were. */
async function drainOrder(
  worker: ScriptedWorker,
  names: ReadonlyMap<string, string>,
): Promise<string[]> {
  const order: string[] = [];
  for (let [task] = await worker.take(); task !== undefined; [task] = await worker.take()) {
    order.push(names.get(task.jobId) ?? '?');
    await worker.report(task);
  }
  return order;
}

test('S-29 A-28: higher priority first, equal priority in order of arrival', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const names = new Map([
    ...(await createMany(world, ['low-1', 'low-2'], { priority: -5 })),
    ...(await createMany(world, ['mid-1', 'mid-2'])),
    ...(await createMany(world, ['high-1', 'high-2'], { priority: 9 })),
    ...(await createMany(world, ['mid-3'])),
  ]);
  const order = await drainOrder(await world.worker('w1'), names);
  assert.deepEqual(order, ['high-1', 'high-2', 'mid-1', 'mid-2', 'mid-3', 'low-1', 'low-2']);
});

test('S-29 A-28: the order of arrival runs over all classes of a client', async () => {
  const picky: Blueprint = blueprint({
    name: 'picky',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['done'],
        handle: () =>
          dispatch('work', {}, { on: { success: 'done' }, requirements: { software: { a: '1' } } }),
      },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [oneTask(), picky] });
  const names = new Map<string, string>();
  for (const name of ['one-task', 'picky', 'one-task', 'picky', 'one-task']) {
    names.set(await world.create(name), `${name} ${names.size}`);
  }
  const order = await drainOrder(
    await world.worker('w1', { offer: { software: { a: '1' } } }),
    names,
  );
  assert.deepEqual(order, [...names.values()]);
});

test('S-29 A-28 B-055: a retry and a delay keep the place of the first arrival', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const lows = await createMany(world, ['low-1', 'low-2', 'low-3'], { priority: -1 });
  const highs = await createMany(world, ['high-1', 'high-2'], { priority: 1 });
  const equals = await createMany(world, ['one', 'two', 'three', 'four']);
  const names = new Map([...lows, ...highs, ...equals]);
  const high = await worker.takeOne();
  assert.equal(names.get(high.jobId), 'high-1');
  await worker.fail(high);
  const other = await worker.takeOne();
  assert.equal(names.get(other.jobId), 'high-2');
  await worker.report(other);
  const equal = await worker.takeOne();
  assert.equal(names.get(equal.jobId), 'one');
  await worker.fail(equal);
  await world.advance(1_000);
  assert.deepEqual(await drainOrder(worker, names), [
    'high-1',
    'one',
    'two',
    'three',
    'four',
    'low-1',
    'low-2',
    'low-3',
  ]);
});

test('S-29 B-055: undelivered and lost tasks keep their place too', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const names = await createMany(world, ['one', 'two', 'three']);
  await world.engine.workers.undelivered('w1', [await worker.takeOne()]);
  await worker.takeOne();
  await worker.register({ bootId: 'another' });
  await world.advance(2_000);
  assert.deepEqual(await drainOrder(worker, names), ['one', 'two', 'three']);
});

test('S-29: the fair share picks the client, the order within it stays strict', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const names = new Map([
    ...(await createMany(world, ['a1', 'a2', 'a3', 'a4'], { client: 'a', priority: 100 })),
    ...(await createMany(world, ['b1', 'b2'], { client: 'b' })),
    ...(await createMany(world, ['b0'], { client: 'b', priority: 1 })),
    ...(await createMany(world, ['c1'], { client: 'c', priority: -100 })),
  ]);
  const order = await drainOrder(worker, names);
  for (const client of ['a', 'b', 'c']) {
    const own = order.filter((name) => name.startsWith(client));
    assert.deepEqual(own, own.toSorted(), `the order of client ${client}`);
  }
  assert.deepEqual(
    order
      .slice(0, 3)
      .map((name) => name[0])
      .toSorted(),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    order
      .slice(3, 5)
      .map((name) => name[0])
      .toSorted(),
    ['a', 'b'],
  );
});

test('S-29: a client with a long backlog keeps none waiting that comes later', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 4, batch: true });
  await createMany(
    world,
    Array.from({ length: 50 }, () => 'a'),
    { client: 'a' },
  );
  for (const task of await worker.take(4)) await worker.report(task);
  const late = await world.create('one-task', { client: 'b' });
  const tasks = await worker.take(2);
  assert.ok(tasks.some(({ jobId }) => jobId === late));
});

test('B-055: a priority beyond the range is refused', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  for (const priority of [1_001, -1_001, Number.NaN]) {
    await assert.rejects(world.create('one-task', { priority }), { code: 'VALIDATION_FAILED' });
  }
  await world.create('one-task', { priority: 1_000 });
});
