import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Random } from '../std/random.ts';
import { eventOf } from '../testing/bus-suite-kit.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import type { Bus } from './contract.ts';
import { createFaultyBus } from './faulty.ts';
import { ScriptedSource } from './fixtures/scripted-source.ts';
import type { Trouble } from './handling.ts';
import { createInProcessBus } from './in-process.ts';
import { nominalDelayMs, reconnectPolicy, shortened } from './reconnect.ts';
import {
  busSource,
  createSubscriber,
  type Subscriber,
  type SubscriberOptions,
} from './subscriber.ts';

const second = 1_000;
const minute = 60_000;

/** Always the same draw; 0 takes the least off, which is 5 %. */
function draws(value: number): Random {
  return { next: () => value, id: () => 'id', secret: () => 'secret' };
}

interface Scene {
  readonly clock: VirtualClock;
  readonly source: ScriptedSource;
  readonly troubles: Trouble[];
  readonly statuses: string[];
  readonly subscriber: Subscriber;
}

function sceneOf(
  options: Partial<SubscriberOptions> = {},
  before?: (source: ScriptedSource) => void,
): Scene {
  const clock = new VirtualClock();
  const source = new ScriptedSource(clock);
  before?.(source);
  const troubles: Trouble[] = [];
  const statuses: string[] = [];
  const subscriber = createSubscriber({
    name: 'smith',
    source,
    clock,
    random: draws(0),
    handle: () => undefined,
    onTrouble: (trouble) => troubles.push(trouble),
    onChange: ({ status }) => statuses.push(status),
    ...options,
  });
  return { clock, source, troubles, statuses, subscriber };
}

/** Waits between attempts, in seconds. */
function gaps(attempts: readonly number[]): number[] {
  return attempts.slice(1).map((at, index) => (at - (attempts[index] ?? 0)) / second);
}

test('H-26 nominal delays are 1, 2, 4, 8, 16, 32, 60, 60 … s', () => {
  const policy = reconnectPolicy();
  const nominal = Array.from({ length: 9 }, (_, waits) => nominalDelayMs(policy, waits) / second);
  assert.deepEqual(nominal, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('S-53 jitter only subtracts, 5 to 20 %: the longest wait under a cap of 60 s is 57 s', () => {
  assert.equal(shortened(minute, draws(0)), 57 * second);
  assert.ok(shortened(minute, draws(0.999_999)) >= 48 * second);
});

test('B-091 delays never shrink, never pass the cap and are never none, however many', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 60_000, noNaN: true }),
      fc.double({ min: 1, max: 100, noNaN: true }),
      fc.nat(5_000),
      (initialDelayMs, multiplier, waits) => {
        const policy = reconnectPolicy({ initialDelayMs, multiplier, maxDelayMs: 60_000 });
        const wait = nominalDelayMs(policy, waits);
        assert.ok(wait >= initialDelayMs && wait <= 60_000);
        assert.ok(nominalDelayMs(policy, waits + 1) >= wait);
      },
    ),
  );
});

test('B-091 settings without sense are refused at once', () => {
  const bad = [
    { initialDelayMs: 0 },
    { initialDelayMs: -1 },
    { initialDelayMs: Number.NaN },
    { maxDelayMs: 1e12 },
    { maxDelayMs: 10 },
    { multiplier: 0.5 },
    { maxAttempts: 1.5 },
    { healthyAfterMs: 0 },
  ];
  for (const reconnect of bad) assert.throws(() => reconnectPolicy(reconnect), RangeError);
  assert.throws(() => sceneOf({ concurrency: 0 }), RangeError);
  assert.throws(() => sceneOf({ buffer: Number.NaN }), RangeError);
});

test('H-25 H-26 failed attempts follow each other with the delays, and a success starts them anew', async () => {
  const { clock, source, subscriber } = sceneOf({}, (source) => {
    source.outcome = 'fail';
  });
  await clock.advance(3 * minute);
  assert.deepEqual(gaps(source.attempts).slice(0, 8), [1, 2, 4, 8, 16, 32, 60, 60].map(share95));
  source.outcome = 'ok';
  await clock.advance(minute);
  assert.equal(subscriber.health().status, 'live');
  source.deliver('1');
  await settle();
  const lostAt = clock.steady();
  source.lose();
  await clock.advance(10 * second);
  assert.equal((source.attempts.at(-1) ?? 0) - lostAt, 950);
  await subscriber.stop();
});

function share95(seconds: number): number {
  return (seconds * 950) / second;
}

test('H-25 the end of the stream, an error of it and a failed attempt are all mended', async () => {
  const { clock, source, statuses, subscriber } = sceneOf();
  await settle();
  source.lose(null);
  await clock.advance(second);
  source.deliver('1');
  await settle();
  source.lose(new Error('reset'));
  source.outcome = 'fail';
  await clock.advance(second);
  source.outcome = 'ok';
  await clock.advance(5 * second);
  source.deliver('2');
  await settle();
  assert.deepEqual(source.settled, ['ack 1', 'ack 2']);
  assert.deepEqual(statuses, ['live', 'down', 'live', 'down', 'live']);
  assert.equal(subscriber.health().losses, 2);
  await subscriber.stop();
});

test('H-p a bus that accepts and drops at once is not hit every second', async () => {
  const { clock, source, subscriber } = sceneOf({
    onChange: ({ status }) => status === 'live' && queueMicrotask(() => source.lose()),
  });
  await clock.advance(2 * minute);
  assert.deepEqual(gaps(source.attempts), [1, 2, 4, 8, 16, 32, 60].map(share95));
  await subscriber.stop();
});

test('H-p a connection that lasts 30 s without an event was a success', async () => {
  const { clock, source, subscriber } = sceneOf({}, (source) => {
    source.outcome = 'fail';
  });
  await clock.advance(10 * second);
  source.outcome = 'ok';
  await clock.advance(40 * second);
  assert.equal(subscriber.health().failedAttempts, 0);
  const lostAt = clock.steady();
  source.lose();
  await clock.advance(second);
  assert.equal((source.attempts.at(-1) ?? 0) - lostAt, 950);
  await subscriber.stop();
});

test('H-27 H-r with three attempts it gives up after three and says so', async () => {
  const { clock, source, troubles, subscriber } = sceneOf(
    { reconnect: { maxAttempts: 3 } },
    (source) => {
      source.outcome = 'fail';
    },
  );
  await clock.advance(minute);
  assert.equal(await subscriber.ended, 'gave_up');
  assert.equal(source.attempts.length, 3);
  assert.equal(subscriber.health().status, 'gave_up');
  assert.deepEqual(troubles.at(-1), {
    kind: 'gave_up',
    message: 'gave up after 3 attempts: nobody there',
  });
  assert.equal(clock.pending, 0);
});

test('H-27 with 0 it never gives up', async () => {
  const { clock, source, subscriber } = sceneOf({}, (source) => {
    source.outcome = 'fail';
  });
  await clock.advance(24 * 60 * minute);
  assert.ok(source.attempts.length > 1_500);
  source.outcome = 'ok';
  await clock.advance(minute);
  assert.equal(subscriber.health().status, 'live');
  await subscriber.stop();
});

test('H-s one attempt means one after a loss, however often it was well before', async () => {
  const { clock, source, subscriber } = sceneOf({ reconnect: { maxAttempts: 1 } });
  for (const id of ['1', '2', '3']) {
    await clock.advance(2 * second);
    source.deliver(id);
    source.lose();
  }
  await clock.advance(2 * second);
  assert.equal(subscriber.health().status, 'live');
  source.deliver('4');
  source.outcome = 'fail';
  source.lose();
  await clock.advance(2 * second);
  assert.equal(await subscriber.ended, 'gave_up');
});

test('H-28 stopped while live, waiting, attempting or just after it: no subscription and no timer is left', async () => {
  const live = sceneOf();
  await settle();
  assert.equal(live.source.open, 1);
  const waiting = sceneOf({}, (source) => {
    source.outcome = 'fail';
  });
  await settle();
  const attempting = sceneOf({}, (source) => {
    source.outcome = 'hang';
  });
  await settle();
  const fresh = sceneOf();
  for (const { subscriber } of [live, waiting, attempting, fresh]) await subscriber.stop();
  // The answer that comes too late is closed, not kept.
  attempting.source.answer();
  await settle();
  for (const { subscriber, source, clock } of [live, waiting, attempting, fresh]) {
    assert.equal(await subscriber.ended, 'stopped');
    assert.equal(subscriber.health().status, 'stopped');
    assert.equal(source.open, 0);
    assert.equal(clock.pending, 0);
  }
});

test('H-28 stopped in whatever moment after the answer of the bus: no subscription and no timer is left', async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const { source, clock, subscriber } = sceneOf({}, (source) => {
      source.outcome = 'hang';
    });
    await settle();
    source.answer();
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    let hasStopped = false;
    void subscriber.stop().then(() => {
      hasStopped = true;
    });
    await settle();
    assert.ok(hasStopped, `after ${turns} turns`);
    assert.deepEqual([source.open, clock.pending], [0, 0]);
  }
});

test('an attempt without an answer fails after 10 s, and its late answer is closed', async () => {
  const { clock, source, troubles, subscriber } = sceneOf({}, (source) => {
    source.outcome = 'hang';
  });
  await clock.advance(10 * second);
  assert.match(troubles[0]?.message ?? '', /no answer within 10000 ms/);
  source.outcome = 'ok';
  await clock.advance(2 * second);
  assert.equal(subscriber.health().status, 'live');
  source.answer();
  await settle();
  assert.equal(source.open, 1);
  await subscriber.stop();
});

test('H-29 what goes wrong is told, and health says since when it is down and why', async () => {
  const { clock, source, troubles, subscriber } = sceneOf();
  await settle();
  source.deliver('1');
  source.outcome = 'fail';
  source.lose(new Error('reset by peer'));
  await settle();
  const { status, since, lastError, nominalDelayMs } = subscriber.health();
  assert.deepEqual([status, since, lastError], ['down', clock.now(), 'reset by peer']);
  assert.equal(nominalDelayMs, second);
  assert.deepEqual(troubles, [{ kind: 'link', message: 'lost the subscription: reset by peer' }]);
  await clock.advance(second);
  assert.equal(subscriber.health().lastError, 'nobody there');
  assert.equal(subscriber.health().failedAttempts, 1);
  await subscriber.stop();
});

test('H-32 H-q after an outage of 10 min it is back within a minute, whatever was drawn and however attempts fail', async () => {
  for (const draw of [0, 0.25, 0.5, 0.75, 0.999]) {
    for (const outcome of ['fail', 'hang'] as const) {
      for (const extraMs of [0, 5 * second, 20 * second, 47 * second]) {
        const { clock, source, subscriber } = sceneOf({ random: draws(draw) });
        await clock.advance(second);
        source.outcome = outcome;
        source.lose();
        await clock.advance(10 * minute + extraMs);
        source.outcome = 'ok';
        await clock.advance(58 * second);
        assert.equal(subscriber.health().status, 'live', `${draw} ${outcome} ${extraMs}`);
        await subscriber.stop();
      }
    }
  }
});

interface BusScene {
  readonly clock: VirtualClock;
  readonly bus: Bus;
  readonly queue: { durable: string; exchange: string; patterns: string[]; maxLength: number };
}

function busScene(): BusScene {
  const clock = new VirtualClock();
  const queue = { durable: 'smith', exchange: 'topico.tareas', patterns: ['#'], maxLength: 500 };
  return { clock, bus: createInProcessBus({ clock }), queue };
}

test('H-30 a slow consumer: at most 100 events are held, publishers wait, nothing is lost', async () => {
  const { clock, bus, queue } = busScene();
  await bus.declare(queue);
  let mostHeld = 0;
  let published = 0;
  const handled: string[] = [];
  const subscriber = createSubscriber({
    name: 'slow',
    source: busSource(bus, queue),
    clock,
    handle: async ({ id }) => {
      await settle();
      mostHeld = Math.max(mostHeld, subscriber.health().held);
      // Behind by no more than the queue: everything else waits with the publisher.
      assert.ok(published - handled.length <= 501);
      handled.push(id);
    },
  });
  for (; published < 5_000; published += 1) {
    await bus.publish(queue.exchange, eventOf(String(published)));
  }
  while (handled.length < 5_000) await settle();
  assert.equal(mostHeld, 100);
  assert.equal(new Set(handled).size, 5_000);
  await subscriber.stop();
});

test('H-31 a hundred events that are posted during an outage are handled after it, in order', async () => {
  const { clock, bus: inner, queue } = busScene();
  const bus = createFaultyBus(inner, { clock });
  const handled: string[] = [];
  const source = busSource(bus, queue);
  const handle = ({ id }: { id: string }): void => void handled.push(id);
  const subscriber = createSubscriber({ name: 'coordinator', source, clock, handle });
  await settle();
  await bus.disconnect();
  await clock.advance(10 * minute);
  for (let number = 0; number < 100; number += 1)
    await inner.publish(queue.exchange, eventOf(String(number)));
  bus.reconnect();
  await clock.advance(minute);
  assert.deepEqual(
    handled,
    Array.from({ length: 100 }, (_, number) => String(number)),
  );
  await subscriber.stop();
});
