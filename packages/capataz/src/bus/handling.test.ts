import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../std/random.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { ScriptedSource } from './fixtures/scripted-source.ts';
import type { EventHandler } from './handling.ts';
import { SeenIds } from './seen-ids.ts';
import { createSubscriber, type SubscriberOptions } from './subscriber.ts';

const second = 1_000;

async function liveScene(handle: EventHandler, options: Partial<SubscriberOptions> = {}) {
  const clock = new VirtualClock();
  const source = new ScriptedSource(clock);
  const subscriber = createSubscriber({ name: 'smith', source, clock, handle, ...options });
  await settle();
  return { clock, source, subscriber };
}

/** A handler whose runs a test ends one by one. */
function heldHandler() {
  const runs: {
    readonly id: string;
    readonly signal: AbortSignal;
    readonly end: (error?: Error) => void;
  }[] = [];
  const handle: EventHandler = ({ id }, { signal }) =>
    new Promise<void>((resolve, reject) => {
      runs.push({ id, signal, end: (error) => (error === undefined ? resolve() : reject(error)) });
    });
  return { runs, handle };
}

test('C-j an event is acknowledged only when its handler has resolved', async () => {
  const { runs, handle } = heldHandler();
  const { source, subscriber } = await liveScene(handle);
  source.deliver('1');
  source.deliver('2');
  await settle();
  assert.deepEqual([runs.length, source.settled], [1, []]);
  runs[0]?.end();
  await settle();
  assert.deepEqual([runs[1]?.id, source.settled], ['2', ['ack 1']]);
  runs[1]?.end();
  await subscriber.stop();
});

test('C-j a failing event waits 1, 2, 4 and 8 s beside the others and becomes a dead letter after 5 failures', async () => {
  const tries: number[] = [];
  const { clock, source, subscriber } = await liveScene(({ id }) => {
    if (id !== 'bad') return;
    tries.push(clock.steady() / second);
    throw new Error('no');
  });
  source.deliver('bad');
  source.deliver('good');
  await settle();
  assert.deepEqual(source.settled, ['ack good']);
  await clock.advance(20 * second);
  assert.equal(tries.length, 5);
  assert.ok(tries.every((at, index) => at <= 2 ** index - 1 && at >= 0.8 * (2 ** index - 1)));
  assert.deepEqual(source.settled, ['ack good', 'dead (failed 5 times: no) bad']);
  assert.equal(clock.pending, 1, 'only the alarm that tells a healthy connection');
  await subscriber.stop();
});

test('C-aa an event that the handler refuses becomes a dead letter at once, and may be brought back', async () => {
  let isKnown = false;
  const { source, subscriber } = await liveScene(() =>
    isKnown ? undefined : { deadLetter: 'unknown job' },
  );
  source.deliver('1');
  await settle();
  isKnown = true;
  source.deliver('1');
  await settle();
  assert.deepEqual(source.settled, ['dead (unknown job) 1', 'ack 1']);
  await subscriber.stop();
});

test('where even the dead letter fails the event is kept and tried again', async () => {
  const { clock, source, subscriber } = await liveScene(() => ({ deadLetter: 'unknown job' }));
  source.takesDead = false;
  source.deliver('1');
  await clock.advance(second);
  assert.deepEqual(source.settled, []);
  source.takesDead = true;
  await clock.advance(2 * second);
  assert.deepEqual(source.settled, ['dead (unknown job) 1']);
  await subscriber.stop();
});

test('H-25 what runs while the link is lost is not run beside itself, and its redelivery is acknowledged with it', async () => {
  const { runs, handle } = heldHandler();
  const { clock, source, subscriber } = await liveScene(handle);
  source.deliver('1');
  source.deliver('2');
  await settle();
  source.lose();
  await clock.advance(second);
  source.deliver('1');
  source.deliver('2');
  await settle();
  assert.equal(runs.length, 1);
  runs[0]?.end();
  await settle();
  runs[1]?.end();
  await settle();
  assert.deepEqual(
    runs.map(({ id }) => id),
    ['1', '2'],
  );
  assert.deepEqual(source.settled, ['ack 1', 'ack 2']);
  assert.equal(subscriber.health().held, 0);
  await subscriber.stop();
});

test('H-x an event handled before a loss is acknowledged, not handled, when it comes again', async () => {
  const handled: string[] = [];
  const { clock, source, subscriber } = await liveScene(({ id }) => void handled.push(id));
  source.deliver('1');
  await settle();
  source.lose();
  await clock.advance(second);
  source.deliver('1');
  await settle();
  assert.deepEqual([handled, source.settled], [['1'], ['ack 1', 'ack 1']]);
  assert.equal(subscriber.health().events.duplicates, 1);
  await subscriber.stop();
});

test('a handler that hangs has failed after its time, its signal is aborted, and others go on', async () => {
  const { runs, handle } = heldHandler();
  const options = { handlerTimeoutMs: 100, random: { ...systemRandom, next: () => 0 } };
  const { clock, source, subscriber } = await liveScene(handle, options);
  source.deliver('1');
  source.deliver('2');
  await clock.advance(100);
  assert.deepEqual([runs[0]?.signal.aborted, runs[1]?.id], [true, '2']);
  runs[1]?.end();
  await clock.advance(950);
  assert.equal(runs[2]?.id, '1');
  runs[2]?.end();
  await settle();
  assert.deepEqual(source.settled, ['ack 2', 'ack 1']);
  await subscriber.stop();
});

test('so many at once as `concurrency` says', async () => {
  const { runs, handle } = heldHandler();
  const { source, subscriber } = await liveScene(handle, { concurrency: 3 });
  for (const id of ['1', '2', '3', '4', '5']) source.deliver(id);
  await settle();
  assert.equal(runs.length, 3);
  for (const { end } of [...runs]) end();
  await settle();
  assert.equal(runs.length, 5);
  for (const { end } of runs) end();
  await subscriber.stop();
});

test('H-28 stopping waits for what runs, begins nothing more, and leaves the rest with the bus', async () => {
  const { runs, handle } = heldHandler();
  const { clock, source, subscriber } = await liveScene(handle);
  source.deliver('1');
  source.deliver('2');
  await settle();
  const stopping = subscriber.stop();
  source.deliver('3');
  await settle();
  assert.equal(source.open, 1);
  runs[0]?.end();
  await stopping;
  assert.deepEqual([source.settled, runs.length, source.open, clock.pending], [['ack 1'], 1, 0, 0]);
});

test('H-28 a handler that does not end is told to, and waited for no longer than the grace', async () => {
  const { runs, handle } = heldHandler();
  const { clock, source, subscriber } = await liveScene(handle, { stopGraceMs: 500 });
  source.deliver('1');
  await settle();
  const stopping = subscriber.stop();
  await clock.advance(500);
  await stopping;
  assert.deepEqual([runs[0]?.signal.aborted, source.settled], [true, []]);
});

test('H-x the ids that are remembered are the last ones, so many', () => {
  const seen = new SeenIds(2);
  for (const id of ['1', '2', '1', '3']) seen.add(id);
  assert.deepEqual(
    ['1', '2', '3'].map((id) => seen.has(id)),
    [true, false, true],
  );
});
