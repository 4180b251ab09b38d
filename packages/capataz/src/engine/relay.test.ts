import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { emit } from '../core/emit.ts';
import { waitFor } from '../core/wait-actions.ts';
import type { OutboxEvent } from '../store/contract.ts';
import { startWorld } from './fixtures.ts';
import type { EventSink } from './relay.ts';

/** A bus that takes down what it is given, and refuses what it is told to. */
class Sink implements EventSink {
  readonly taken: OutboxEvent[] = [];
  readonly tries: string[] = [];
  refuses: (event: OutboxEvent) => boolean = () => false;
  judge: NonNullable<EventSink['judge']> = () => 'refused';
  waits: (event: OutboxEvent) => Promise<void> | undefined = () => undefined;
  pauseMs: number | null = null;

  async publish(event: OutboxEvent): Promise<void> {
    this.tries.push(event.name);
    await this.waits(event);
    if (this.refuses(event)) throw new Error(`${event.name} is not wanted`);
    this.taken.push(event);
  }

  pausedForMs(): number | null {
    return this.pauseMs;
  }

  get names(): string[] {
    return this.taken.map(({ name }) => name);
  }
}

/** Emits in a chain of handles, by a run, and when its task is done. */
function speaker(): Blueprint {
  return blueprint({
    name: 'speaker',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['work'],
        handle: (job) => {
          job.emit('topic', 'begun', { job: job.id });
          return transition('work');
        },
      },
      work: {
        to: ['tell'],
        handle: (job) => {
          job.emit('topic', 'asked', null);
          return dispatch('work', {}, { on: { success: 'tell' } });
        },
      },
      tell: {
        to: ['done'],
        run: async (job) => {
          job.emit('topic', 'told', null);
          return transition('done');
        },
      },
      done: {
        end: true,
        handle: (job) => {
          job.emit('topic', 'ended', null);
          return finish();
        },
      },
    },
  });
}

async function begin(sink = new Sink(), machine = speaker()) {
  const world = await startWorld({ blueprints: [machine], sink });
  const worker = await world.worker('w');
  return { world, worker, sink };
}

test('S-58 what a handler emits is published after its commit, in order, with job and correlation', async () => {
  const { world, worker, sink } = await begin();
  const id = await world.create('speaker', { correlationId: 'c-7', trace: '00-a' });
  await worker.report(await worker.takeOne());
  await world.settle();
  assert.deepEqual(sink.names, ['begun', 'asked', 'told', 'ended']);
  assert.deepEqual(sink.taken[0]?.payload, { job: id });
  for (const { jobId, correlationId, trace } of sink.taken)
    assert.deepEqual([jobId, correlationId, trace], [id, 'c-7', '00-a']);
  assert.equal(new Set(sink.taken.map((event) => event.id)).size, 4);
  assert.equal((await world.truth.counts()).outbox, 0);
});

test('S-58 what a handler emits before it throws is dropped; a poll emits each time', async () => {
  let throws = true;
  const machine = blueprint({
    name: 'speaker',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done'],
        retry: { base: '1s', jitter: 0 },
        handle: (job) => {
          job.emit('topic', throws ? 'in vain' : 'once', null);
          if (throws) throw new Error('not yet');
          const poll = { every: '10s', emit: emit('topic', 'still there?', null) } as const;
          return waitFor({ on: { timeout: 'done' }, poll, deadline: '25s' });
        },
      },
      done: { end: true },
    },
  });
  const { world, sink } = await begin(new Sink(), machine);
  await world.create('speaker');
  throws = false;
  await world.advance(30_000);
  assert.deepEqual(sink.names, ['once', 'still there?', 'still there?']);
});

test('H-31 nothing is lost while the bus is away, and the order of each job stays', async () => {
  const { world, worker, sink } = await begin();
  sink.refuses = () => true;
  const id = await world.create('speaker');
  await worker.report(await worker.takeOne());
  await world.advance(4_000);
  assert.deepEqual(sink.taken, []);
  await world.restart();
  sink.refuses = () => false;
  await world.advance(60_000);
  assert.deepEqual(sink.names, ['begun', 'asked', 'told', 'ended']);
  assert.equal((await world.job(id)).status, 'finished');
});

test('H-39 H-u an event that keeps failing is a dead letter after 5 retries; the others flow', async () => {
  const { world, worker, sink } = await begin();
  sink.refuses = ({ name }) => name === 'asked';
  await world.create('speaker');
  await worker.report(await worker.takeOne());
  // 5, 10, 20, 40 and 80 s, each up to 10 % later.
  await world.advance(180_000);
  assert.equal(sink.tries.filter((name) => name === 'asked').length, 6);
  assert.deepEqual(sink.names, ['begun', 'told', 'ended']);
  const [letter] = await world.engine.deadLetters.list({ limit: 10 });
  assert.deepEqual(
    [letter?.name, letter?.retryCount, letter?.lastError],
    ['asked', 6, 'asked is not wanted'],
  );
  assert.equal((await world.truth.counts()).deadLetters, 1);
  sink.refuses = () => false;
  assert.deepEqual(
    await world.engine.deadLetters.redrive([letter?.id ?? ''], letter?.client ?? ''),
    [letter?.id],
  );
  await world.settle();
  assert.deepEqual(sink.names, ['begun', 'told', 'ended', 'asked']);
});

test('S-36 while the way to the bus is closed nothing is tried, and nothing counts as a try', async () => {
  const { world, sink } = await begin();
  sink.pauseMs = 30_000;
  await world.create('speaker');
  await world.advance(20_000);
  assert.deepEqual(sink.tries, []);
  sink.pauseMs = null;
  await world.advance(11_000);
  assert.deepEqual(sink.names, ['begun', 'asked']);
});

test('H-w an event that is a dead letter lets later ones of its job pass, and these show the gap', async () => {
  const { world, worker, sink } = await begin();
  sink.refuses = ({ name }) => name === 'asked';
  await world.create('speaker');
  await worker.report(await worker.takeOne());
  await world.advance(180_000);
  const numbers = () => sink.taken.map(({ name, sequence }) => `${sequence} ${name}`);
  assert.deepEqual(numbers(), ['1 begun', '3 told', '4 ended']);
  sink.refuses = () => false;
  const [letter] = await world.engine.deadLetters.list({ limit: 10 });
  await world.engine.deadLetters.redrive([letter?.id ?? ''], letter?.client ?? '');
  await world.settle();
  assert.deepEqual(numbers().at(-1), '2 asked');
});

test('S-47 an event that the bus lets wait holds up its own job’s alone', async () => {
  const { world, sink } = await begin();
  const answer = Promise.withResolvers<void>();
  let isFirst = true;
  sink.waits = () => {
    if (!isFirst) return undefined;
    isFirst = false;
    return answer.promise;
  };
  const [slow, quick] = [await world.create('speaker'), await world.create('speaker')];
  await world.advance(20_000);
  assert.deepEqual(
    sink.taken.map(({ jobId, name }) => [jobId, name]),
    [
      [quick, 'begun'],
      [quick, 'asked'],
    ],
  );
  answer.resolve();
  await world.settle();
  assert.deepEqual(
    sink.taken.slice(2).map(({ jobId, name }) => [jobId, name]),
    [
      [slow, 'begun'],
      [slow, 'asked'],
    ],
  );
});

test('H-x what the bus has taken is not published again because the store is away', async () => {
  const { world, sink } = await begin();
  const answer = Promise.withResolvers<void>();
  sink.waits = () => answer.promise;
  await world.create('speaker');
  await world.settle();
  world.isStoreDown = true;
  answer.resolve();
  await world.advance(60_000);
  world.isStoreDown = false;
  await world.advance(6_000);
  assert.deepEqual(sink.tries, ['begun', 'asked']);
  assert.equal((await world.truth.counts()).outbox, 0);
});

test('S-36 H-39 however long the way to the bus is gone, no event is given up for it', async () => {
  const { world, sink } = await begin();
  sink.refuses = () => true;
  sink.judge = () => 'away';
  const id = await world.create('speaker');
  await world.advance(3_600_000);
  assert.ok(sink.tries.length > 6);
  const { events } = await world.truth.outbox(10, 30_000);
  assert.deepEqual([events[0]?.retryCount, await world.truth.deadLetters({ limit: 9 })], [0, []]);
  sink.refuses = () => false;
  await world.advance(6_000);
  assert.deepEqual(sink.names, ['begun', 'asked']);
  assert.equal(sink.taken[0]?.jobId, id);
});

test('an event whose tries are spent elsewhere is a dead letter at once', async () => {
  const { world, sink } = await begin();
  sink.refuses = ({ name }) => name === 'begun';
  sink.judge = () => 'spent';
  await world.create('speaker');
  await world.settle();
  const [letter] = await world.truth.deadLetters({ limit: 9 });
  assert.deepEqual([letter?.name, letter?.retryCount], ['begun', 1]);
});

test('H-x a crash between publishing and its mark publishes again, under the same id', async () => {
  const { world, sink } = await begin();
  const release = world.stopAt('settleOutbox');
  await world.create('speaker');
  await world.settle();
  const [first] = sink.taken;
  world.kill();
  release();
  await world.boot();
  await world.advance(1_000);
  const again = sink.taken.filter(({ id }) => id === first?.id);
  assert.equal(again.length, 2);
});
