/** Leases, deadlines, sweeps and events between two engines on one store: each once, whoever dies or freezes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { delay } from '../std/clock.ts';
import type { OutboxEvent } from '../store/contract.ts';
import { oneTask, startTwo, type World } from './fixtures.ts';
import type { EventSink } from './relay.ts';

const second = 1_000;
const minute = 60 * second;
const leaseMs = 10 * second;

/** Two instances whose handlers work for so long by their own clocks, and write down that they began. */
async function startSlow(forMs: number, begun: string[]): Promise<readonly [World, World]> {
  const worlds: World[] = [];
  const slow = (name: string, place: number): Blueprint =>
    blueprint({
      name: 'slow',
      version: 1,
      states: {
        think: {
          start: true,
          to: ['done'],
          timeout: '5m',
          run: async () => {
            begun.push(name);
            const { process } = worlds[place] ?? {};
            if (process !== undefined) await delay(process.clock, forMs);
            return transition('done');
          },
        },
        done: { end: true },
      },
    });
  const [one, two] = await startTwo(
    { blueprints: [slow('one', 0)] },
    { blueprints: [slow('other', 1)] },
  );
  worlds.push(one, two);
  return [one, two];
}

const napping = blueprint({
  name: 'nap',
  version: 1,
  states: {
    nap: { start: true, to: ['done'], handle: () => sleep('30s', 'done') },
    done: { end: true },
  },
});

test('B-011 H-43 two instances: the handler of one that died is taken over within one lease, and counted', async () => {
  const begun: string[] = [];
  const [one, two] = await startSlow(10 * second, begun);
  const id = await one.create('slow');
  await one.advance(second);
  assert.deepEqual(begun, ['one']);
  one.kill();
  await two.advance(leaseMs + second);
  assert.deepEqual(begun, ['one', 'other']);
  assert.equal((await two.entries(id, 'handler_lost')).length, 1);
  await two.advance(11 * second);
  assert.equal((await two.job(id)).status, 'finished');
});

test('A-60 two instances: one that was frozen beyond its lease wakes up and changes nothing', async () => {
  const begun: string[] = [];
  const [one, two] = await startSlow(12 * second, begun);
  const id = await one.create('slow');
  await one.advance(second);
  one.process.freeze(one.clock, leaseMs + 5 * second);
  await two.advance(leaseMs + 2 * second);
  assert.deepEqual(begun, ['one', 'other']);
  // The first one thaws and its handler returns, while the other's is still at work.
  await two.advance(5 * second);
  assert.equal((await two.job(id)).status, 'running');
  const before = (await two.history(id)).length;
  await two.advance(second);
  assert.equal((await two.history(id)).length, before);
  await two.advance(10 * second);
  assert.equal((await two.job(id)).status, 'finished');
  assert.deepEqual(begun, ['one', 'other']);
});

test('B-022 A-41 A-61 two instances: 1,000 timers fire once each, though one freezes in the middle and thaws', async () => {
  const [one, two] = await startTwo({ blueprints: [napping] });
  const ids: string[] = [];
  for (let count = 0; count < 1_000; count += 1) ids.push(await one.create('nap'));
  await one.advance(29_990);
  const release = one.stopAt('commit');
  await one.advance(20);
  one.process.freeze(one.clock, 10 * second);
  release();
  await two.advance(2 * second);
  for (const id of ids) assert.equal((await two.job(id)).status, 'finished');
  await two.advance(20 * second);
  for (const id of ids) {
    const entries = await two.history(id);
    assert.equal(entries.filter(({ type }) => type === 'job_finished').length, 1);
    const [first, last] = [entries[0], entries.at(-1)];
    assert.ok((last?.at ?? Infinity) - (first?.at ?? 0) <= 31 * second, 'at most 1 s late');
  }
});

test('A-41 two instances: the deadline that a dead one has set is met by the other', async () => {
  const [one, two] = await startTwo({ blueprints: [napping] });
  const id = await one.create('nap');
  await one.advance(100);
  one.kill();
  await two.advance(31 * second);
  assert.equal((await two.job(id)).status, 'finished');
});

test('H-b two instances: both monitors look, and an attempt is given up once: one event, one lost run', async () => {
  const machine = oneTask({ executionLimit: '10h', retry: { jitter: 0, max: 3 } });
  const [one, two] = await startTwo({ blueprints: [machine] });
  const worker = await one.worker('w', { slots: 50, batch: true });
  const ids = await Promise.all(Array.from({ length: 50 }, () => one.create('one-task')));
  await worker.take(50);
  await one.advance(6 * minute);
  for (const id of ids) {
    assert.equal((await two.entries(id, 'task_failed')).length, 1);
    assert.equal((await two.task(id)).lostRuns, 1);
  }
});

test('H-m two instances: whatever their own clocks say, cutoffs are of the store’s', async () => {
  const machine = oneTask({ executionLimit: '10h', retry: { jitter: 0, max: 3 } });
  for (const skewMs of [-90 * minute, 90 * minute]) {
    const [one, two] = await startTwo({ blueprints: [machine, napping] }, { skewMs });
    const worker = await one.worker('w', { heartbeatMs: 15 * second });
    worker.keepBeating();
    const id = await one.create('one-task');
    const nap = await two.create('nap');
    await worker.takeOne();
    worker.holding.clear();
    await one.advance(29 * second);
    assert.equal((await one.job(nap)).status, 'waiting_for_timer', `off by ${skewMs} ms`);
    assert.equal((await one.task(id)).status, 'ASSIGNED');
    await one.advance(2 * second);
    assert.equal((await one.job(nap)).status, 'finished');
    assert.deepEqual((await one.truth.workers()).length, 1, 'it beats all the time');
  }
});

const speaking = blueprint({
  name: 'speaking',
  version: 1,
  states: {
    speak: {
      start: true,
      to: ['done'],
      handle: (job) => {
        job.emit('topic', 'first', null);
        job.emit('topic', 'second', null);
        return transition('done');
      },
    },
    done: { end: true },
  },
});

/** Two instances whose bus takes so long with each event, and writes down who published it. */
async function startSpeakers(
  takesMs: number,
  published: string[],
): Promise<readonly [World, World]> {
  const worlds: World[] = [];
  const sinkOf = (name: string): EventSink => ({
    publish: async ({ jobId, sequence }: OutboxEvent) => {
      published.push(`${name} ${jobId} ${sequence}`);
      const [{ clock } = {}] = worlds;
      if (clock !== undefined) await delay(clock, takesMs);
    },
    pausedForMs: () => null,
  });
  const blueprints = [speaking];
  const [one, two] = await startTwo(
    { blueprints, sink: sinkOf('one') },
    { blueprints, sink: sinkOf('other') },
  );
  worlds.push(one, two);
  return [one, two];
}

test('A-61 two instances: each event is published by one of them, a job’s in order', async () => {
  const published: string[] = [];
  const [one, two] = await startSpeakers(50, published);
  const ids: string[] = [];
  for (let count = 0; count < 30; count += 1)
    ids.push(await (count % 2 === 0 ? one : two).create('speaking'));
  await one.advance(30 * second);
  assert.equal(published.length, 60);
  for (const id of ids) {
    const ofJob = published.filter((line) => line.includes(id)).map((line) => line.slice(-1));
    assert.deepEqual(ofJob, ['1', '2']);
  }
  assert.equal((await one.truth.counts()).outbox, 0);
});

test('A-61 two instances: what a dead one was publishing is published by the other, under the same sequence', async () => {
  const published: string[] = [];
  const [one, two] = await startSpeakers(500, published);
  const id = await one.create('speaking');
  await one.advance(100);
  one.kill();
  await two.advance(minute);
  assert.deepEqual(published, [`one ${id} 1`, `other ${id} 1`, `other ${id} 2`]);
});
