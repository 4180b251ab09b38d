import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, sleep, transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { oneTask, startWorld } from './fixtures.ts';

/** Each version says its number at each step, and goes on in another state. */
function numbered(version: number): Blueprint {
  return blueprint({
    name: 'numbered',
    version,
    states: {
      begin: {
        start: true,
        to: ['think'],
        handle: () => dispatch('work', { version }, { on: { success: 'think' } }),
      },
      think: { to: ['rest'], run: async () => transition('rest') },
      rest: { to: ['end'], handle: () => sleep('1m', 'end') },
      end: { end: true, handle: () => finish(version) },
    },
  });
}

test('S-15 A-8: a job of version 1 goes on with version 1 after version 2 is registered', async () => {
  const world = await startWorld({ blueprints: [numbered(1)] });
  const old = await world.create('numbered');
  await world.restart([numbered(1), numbered(2)]);
  const young = await world.create('numbered');
  const asked = await world.create('numbered', { version: 1 });
  const worker = await world.worker('w1', { slots: 3 });
  for (const task of await worker.take(3)) await worker.report(task);
  await world.advance(61_000);
  const jobs = await Promise.all([old, young, asked].map((id) => world.job(id)));
  assert.deepEqual(
    jobs.map(({ blueprintVersion, result }) => [blueprintVersion, result]),
    [
      [1, 1],
      [2, 2],
      [1, 1],
    ],
  );
});

test('S-15: an instance claims only the handlers of versions that it holds', async () => {
  let isHanging = true;
  const slow = (version: number): Blueprint =>
    blueprint({
      name: 'slow',
      version,
      states: {
        think: {
          start: true,
          to: ['done'],
          run: async () => (isHanging ? new Promise<never>(() => undefined) : transition('done')),
        },
        done: { end: true },
      },
    });
  const world = await startWorld({ blueprints: [slow(1)] });
  const id = await world.create('slow');
  await world.settle();
  isHanging = false;
  await world.restart([slow(2)]);
  await world.advance(60_000);
  assert.equal((await world.entries(id, 'handler_claimed')).length, 1);
  assert.equal((await world.job(id)).status, 'running');
  await world.restart([slow(1), slow(2)]);
  await world.advance(1_000);
  assert.equal((await world.job(id)).status, 'finished');
});

test('S-15 A-8: a job of a version that is gone waits untouched, then is quarantined', async () => {
  const world = await startWorld({ blueprints: [numbered(1)] });
  const id = await world.create('numbered');
  const worker = await world.worker('w1');
  const task = await worker.takeOne();
  await world.restart([numbered(2)]);
  await assert.rejects(worker.report(task), { code: 'NOT_READY' });
  await world.advance(9 * 60_000);
  const before = await world.job(id);
  assert.equal(before.status, 'waiting_for_worker');
  await world.advance(2 * 60_000);
  const after = await world.job(id);
  assert.equal(after.status, 'quarantined');
  assert.equal(after.error?.code, 'BLUEPRINT_GONE');
  assert.equal((await world.entries(id, 'job_quarantined')).length, 1);
  await world.advance(30 * 60_000);
  assert.equal((await world.entries(id, 'job_quarantined')).length, 1, 'no loop');
});

test('S-15 A-8: a runnable handler of a version that is gone is never claimed', async () => {
  const waiting = blueprint({
    name: 'waiting',
    version: 1,
    states: {
      rest: { start: true, to: ['think'], handle: () => sleep('5m', 'think') },
      think: { to: ['end'], run: async () => transition('end') },
      end: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [waiting, oneTask()] });
  const id = await world.create('waiting');
  await world.restart([oneTask()]);
  await world.advance(6 * 60_000);
  assert.equal((await world.job(id)).status, 'waiting_for_timer');
  const errors = world.errors.length;
  await world.advance(60_000);
  assert.equal(world.errors.length, errors, 'it is no error that another version is needed');
  await world.restart([waiting]);
  await world.settle();
  assert.equal((await world.job(id)).status, 'finished', 'the version came back in time');
});

test('S-15: a due deadline of a version that is not here holds up no other', async () => {
  const gone = oneTask({ dispatchTimeout: '10s' }, { name: 'gone' });
  const here = oneTask({ dispatchTimeout: '30s' }, { name: 'here' });
  const world = await startWorld({ blueprints: [gone, here] });
  await world.create('gone');
  const id = await world.create('here');
  await world.restart([here]);
  await world.advance(31_000);
  assert.equal((await world.job(id)).status, 'failed');
});

test('S-15: the same version with another graph stops the start', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const changed = blueprint({
    name: 'one-task',
    version: 1,
    states: {
      ask: { start: true, to: ['done'], handle: () => transition('done') },
      done: { end: true },
    },
  });
  world.kill();
  await assert.rejects(world.boot([changed]), {
    code: 'BLUEPRINT_CHANGED',
    message: /"one-task" version 1/,
  });
  assert.equal(world.engine.ready, false);
  world.kill();
  await world.boot([changed], { allowChangedGraphs: true });
  assert.ok(world.engine.ready);
  assert.match(world.warnings.join(), /graph of a blueprint has changed/);
  await world.restart([oneTask()]);
  assert.ok(world.engine.ready, 'the graph that was recorded first stays the one that counts');
});
