import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { BusError, type BusEvent } from '../bus/contract.ts';
import { busSource, createSubscriber } from '../bus/subscriber.ts';
import type { JsonValue } from '../std/json.ts';
import {
  eventOf,
  Inbox,
  letters,
  numbered,
  type OpenBus,
  one,
  rejectsWith,
  type Stage,
  type StageTest,
  stageTest,
} from './bus-suite-kit.ts';
import { until } from './until.ts';

/** The conformance suite: what every bus must do, in the same words. */
export function busSuite(name: string, open: OpenBus): void {
  const test = stageTest(open);
  describe(`bus ${name}`, () => {
    for (const define of [
      routingTests,
      durableTests,
      settlingTests,
      deadTests,
      textTests,
      limitTests,
    ]) {
      define(test);
    }
    subscriberTests(test);
  });
}

function routingTests(test: StageTest): void {
  test('H-33 an event arrives as it was sent, with its correlation id, job and trace', async (stage) => {
    const { bus } = stage;
    const inbox = new Inbox();
    await bus.subscribe(stage.queue('smith'), inbox.receive);
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const sent = eventOf('e-1', { trace, sequence: 7, payload: { n: 1.5, list: [null, true] } });
    await bus.publish(stage.exchange(), sent);
    const { event, deliveries } = await one(inbox);
    assert.deepEqual(event, sent);
    assert.equal(deliveries, 1);
  });

  test('an event without a correlation id carries that of its job', async (stage) => {
    const inbox = new Inbox();
    await stage.bus.subscribe(stage.queue('smith'), inbox.receive);
    await stage.publish(1, { correlationId: '' });
    assert.equal((await one(inbox)).event.correlationId, 'job-1');
  });

  test('C-k each durable name has its own copy of what its patterns ask for, and nothing else', async (stage) => {
    const { bus } = stage;
    const [all, orders, errors] = [new Inbox(), new Inbox(), new Inbox()];
    await bus.subscribe(stage.queue('log', { patterns: ['#'] }), all.receive);
    await bus.subscribe(stage.queue('smith', { patterns: ['tarea.*'] }), orders.receive);
    const patterns = ['*.error', 'tarea.crear.#'];
    await bus.subscribe(stage.queue('watch', { patterns }), errors.receive);
    const names = [
      'tarea.crear',
      'tarea.error',
      'resultado.plan',
      'resultado.error',
      'tarea.a.b',
      'x',
    ];
    for (const name of names) await bus.publish(stage.exchange(), eventOf(name, { name }));
    await all.first(names.length);
    await orders.first(2);
    await errors.first(3);
    assert.deepEqual(all.ids, names);
    assert.deepEqual(orders.ids, ['tarea.crear', 'tarea.error']);
    assert.deepEqual(errors.ids, ['tarea.crear', 'tarea.error', 'resultado.error']);
  });

  test('exchanges are apart; one name may listen to several', async (stage) => {
    const inbox = new Inbox();
    const results = stage.exchange('topico.resultados');
    await stage.bus.declare(stage.queue('orchestrator', { exchange: results }));
    await stage.bus.subscribe(stage.queue('orchestrator'), inbox.receive);
    await stage.bus.publish(stage.exchange('topico.logs'), eventOf('log'));
    await stage.bus.publish(results, eventOf('result'));
    await stage.bus.publish(stage.exchange(), eventOf('order'));
    await inbox.first(2);
    assert.deepEqual(inbox.ids, ['result', 'order']);
  });

  test('an event that nobody listens to is taken', async (stage) => {
    await stage.publish(1);
    assert.equal(stage.bus.health().published, 1);
  });
}

function durableTests(test: StageTest): void {
  test('H-31 what is published while nobody consumes waits under the name, in order', async (stage) => {
    const queue = stage.queue('smith');
    await stage.bus.declare(queue);
    await stage.publish(100);
    const inbox = new Inbox();
    await stage.another().subscribe(queue, inbox.receive);
    await inbox.first(100);
    assert.deepEqual(inbox.ids, numbered(100));
  });

  test('what was not settled is handed out again when its subscription ends', async (stage) => {
    const queue = stage.queue('smith');
    const [before, after] = [new Inbox(), new Inbox()];
    const subscription = await stage.bus.subscribe(queue, before.receive);
    await stage.publish(3);
    await before.first(3);
    before.all[1]?.ack();
    await subscription.close();
    assert.equal(await subscription.ended, null);
    await stage.bus.subscribe(queue, after.receive);
    const again = await after.first(2);
    assert.deepEqual(
      again.map(({ event, deliveries }) => [event.id, deliveries]),
      [
        ['1', 2],
        ['3', 2],
      ],
    );
  });

  test('an acknowledged event never comes back', async (stage) => {
    const queue = stage.queue('smith');
    const [before, after] = [new Inbox(), new Inbox()];
    const subscription = await stage.bus.subscribe(queue, before.receive);
    await stage.publish(1);
    (await one(before)).ack();
    await subscription.close();
    await stage.bus.subscribe(queue, after.receive);
    await stage.bus.publish(stage.exchange(), eventOf('later'));
    assert.equal((await one(after)).event.id, 'later');
  });

  test('subscriptions of one name share its events', async (stage) => {
    const queue = stage.queue('smith');
    const [left, right] = [new Inbox(), new Inbox()];
    await stage.bus.subscribe({ ...queue, prefetch: 1 }, left.receive);
    await stage.another().subscribe({ ...queue, prefetch: 1 }, right.receive);
    await stage.publish(2);
    await Promise.all([left.first(1), right.first(1)]);
    assert.deepEqual([...left.ids, ...right.ids].sort(), ['1', '2']);
  });
}

function settlingTests(test: StageTest): void {
  test('H-30 no more than `prefetch` events are held unsettled', async (stage) => {
    const inbox = new Inbox();
    await stage.bus.subscribe({ ...stage.queue('smith'), prefetch: 2 }, inbox.receive);
    await stage.publish(20);
    for (let settled = 0; settled < 18; settled += 1) {
      await inbox.first(settled + 2);
      assert.ok(inbox.all.length <= settled + 2);
      inbox.all[settled]?.ack();
    }
    await inbox.first(20);
    assert.deepEqual(inbox.ids, numbered(20));
  });

  test('a released event is handed out again', async (stage) => {
    const inbox = new Inbox();
    await stage.bus.subscribe(stage.queue('smith'), inbox.receive);
    await stage.publish(1);
    (await one(inbox)).release();
    assert.equal((await one(inbox, 2)).deliveries, 2);
  });

  test('a delivery is settled once; what is called after that does nothing', async (stage) => {
    const inbox = new Inbox();
    const queue = stage.queue('smith');
    await stage.bus.subscribe(queue, inbox.receive);
    await stage.publish(1);
    const delivery = await one(inbox);
    delivery.ack();
    delivery.release();
    delivery.ack();
    await delivery.deadLetter('too late');
    await stage.bus.publish(stage.exchange(), eventOf('later'));
    assert.equal((await one(inbox, 2)).event.id, 'later');
    assert.deepEqual(await letters(stage.bus, queue.durable), []);
  });
}

function deadTests(test: StageTest): void {
  test('dead letters keep their reason, are kept, brought back to their name only, or dropped', async (stage) => {
    const { bus } = stage;
    const queue = stage.queue('smith');
    const [inbox, other] = [new Inbox(), new Inbox()];
    await bus.subscribe(queue, inbox.receive);
    await bus.subscribe(stage.queue('other'), other.receive);
    await stage.publish(3);
    for (const delivery of await inbox.first(3))
      await delivery.deadLetter(`no ${delivery.event.id}`);
    assert.deepEqual(await letters(bus, queue.durable), ['1: no 1', '2: no 2', '3: no 3']);
    const verdicts = { 1: 'drop', 2: 'redrive', 3: 'keep' } as const;
    const counts = await bus.reviewDead(
      queue.durable,
      ({ event }) => verdicts[Number(event?.id) as 1 | 2 | 3],
    );
    assert.deepEqual(counts, { keep: 1, redrive: 1, drop: 1 });
    assert.deepEqual((await one(inbox, 4)).event, eventOf('2', { sequence: 2 }));
    assert.deepEqual(await letters(bus, queue.durable), ['3: no 3']);
    assert.equal(other.all.length, 3);
    assert.equal(bus.health().deadLettered, 3);
  });

  test('poison that nobody settles becomes a dead letter after `maxDeliveries` hand-outs', async (stage) => {
    const queue = stage.queue('smith', { maxDeliveries: 3 });
    const inbox = new Inbox();
    await stage.bus.subscribe({ ...queue, prefetch: 1 }, inbox.receive);
    await stage.publish(2);
    for (const number of [1, 2, 3]) (await one(inbox, number)).release();
    const next = await one(inbox, 4);
    assert.deepEqual([...inbox.ids], ['1', '1', '1', '2']);
    // The broker moves it on its own time; a message behind it in the dead letters says it is there.
    await next.deadLetter('the mark');
    const found = await letters(stage.bus, queue.durable);
    assert.equal(found.length, 2);
    assert.match(found[0] ?? '', /^1: /);
  });

  test('H-o what the codec can’t read becomes a dead letter, and the rest flows', async (stage) => {
    const queue = stage.queue('smith');
    const inbox = new Inbox();
    await stage.bus.subscribe(queue, inbox.receive);
    for (const name of ['a', 'unreadable', 'b']) {
      await stage.bus.publish(stage.exchange(), eventOf(name, { name }));
    }
    await inbox.first(2);
    assert.deepEqual(inbox.ids, ['a', 'b']);
    assert.equal(stage.bus.health().undecodable, 1);
    (await one(inbox, 2)).ack();
    await until(() => stage.bus.health().deadLettered === 1);
    assert.deepEqual(await letters(stage.bus, queue.durable), [
      '?: undecodable: made for this test',
    ]);
  });
}

function textTests(test: StageTest): void {
  test('B-078 payloads of every size arrive whole', async (stage) => {
    const inbox = new Inbox();
    await stage.bus.subscribe(stage.queue('smith'), inbox.receive);
    const payloads = [7_900, 7_999, 8_000, 20_000, 2_000_000].flatMap((bytes) => [
      'x'.repeat(bytes),
      '🛠'.repeat(bytes / 4),
    ]);
    for (const [index, payload] of payloads.entries()) {
      await stage.bus.publish(stage.exchange(), eventOf(String(index), { payload }));
    }
    const arrived = await inbox.first(payloads.length);
    assert.ok(arrived.every(({ event }, index) => event.payload === payloads[index]));
  });

  test('B-086 what no store could keep is cleaned by the one rule, in payload and texts', async (stage) => {
    const inbox = new Inbox();
    await stage.bus.subscribe(stage.queue('smith'), inbox.receive);
    const payload: JsonValue = JSON.parse('{"a\\u0000": "\\ud800", "__proto__": 1, "n": 1e999}');
    await stage.bus.publish(stage.exchange(), eventOf('1', { payload, originator: 'a\0b' }));
    const { event } = await one(inbox);
    assert.deepEqual(event.payload, { 'a\ufffd': '\ufffd', n: null });
    assert.equal(event.originator, 'a\ufffdb');
  });

  test('B-078 what will never be taken is refused as such, and nothing of it arrives', async (stage) => {
    const { bus } = stage;
    const inbox = new Inbox();
    await bus.subscribe(stage.queue('smith'), inbox.receive);
    const exchange = stage.exchange();
    const payload = 'x'.repeat(16 * 1024 * 1024);
    await rejectsWith('too_large', bus.publish(exchange, eventOf('1', { payload })));
    await rejectsWith('invalid', bus.publish(exchange, eventOf('2', { name: '' })));
    await rejectsWith('invalid', bus.publish(exchange, eventOf('3', { name: 'n'.repeat(256) })));
    await rejectsWith('invalid', bus.publish(exchange, eventOf('\0')));
    await rejectsWith('invalid', bus.publish(exchange, eventOf('5', { time: Number.NaN })));
    await bus.publish(exchange, eventOf('6', { name: 'n'.repeat(255) }));
    assert.equal((await one(inbox)).event.id, '6');
  });
}

function limitTests(test: StageTest): void {
  test('H-30 a name that is full refuses what is new, keeps what it has, and takes again later', async (stage) => {
    const queue = stage.queue('smith', { maxLength: 5 });
    await stage.bus.declare(queue);
    const taken: string[] = [];
    let refusal: unknown;
    // A broker's limit is soft by a few messages.
    for (let number = 1; number <= 100 && refusal === undefined; number += 1) {
      await stage.bus
        .publish(stage.exchange(), eventOf(String(number)))
        .then(() => taken.push(String(number)))
        .catch((error: unknown) => {
          refusal = error;
        });
    }
    assert.ok(refusal instanceof BusError && refusal.code === 'full' && refusal.isRetryable);
    const inbox = new Inbox();
    await stage.bus.subscribe(queue, inbox.receive);
    for (const delivery of await inbox.first(taken.length)) delivery.ack();
    await publishWhenTaken(stage, eventOf('later'));
    assert.equal((await one(inbox, taken.length + 1)).event.id, 'later');
  });

  test('a closed bus refuses, and closing twice is harmless', async (stage) => {
    const bus = stage.another();
    await bus.close();
    await bus.close();
    await rejectsWith('closed', bus.publish(stage.exchange(), eventOf('1')));
    await rejectsWith(
      'closed',
      bus.subscribe(stage.queue('smith'), () => undefined),
    );
  });
}

/** As a relay does: again while it is full, a number of times. */
async function publishWhenTaken(stage: Stage, event: BusEvent): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const isTaken = await stage.bus.publish(stage.exchange(), event).then(
      () => true,
      () => false,
    );
    if (isTaken) return;
  }
  assert.fail('it stayed full');
}

function subscriberTests(test: StageTest): void {
  test('H-25 an event that fails is tried again while others pass, and dies after n failures', async (stage) => {
    const queue = stage.queue('smith');
    const order: string[] = [];
    await stage.bus.declare(queue);
    await stage.publish(3);
    const subscriber = createSubscriber({
      name: 'smith',
      source: busSource(stage.bus, queue),
      maxFailures: 3,
      retryDelayMs: 1,
      handle: ({ id }) => {
        order.push(id);
        if (id === '2') throw new Error('not this one');
      },
    });
    await until(() => {
      const { handled, deadLettered } = subscriber.health().events;
      return handled === 2 && deadLettered === 1;
    });
    await subscriber.stop();
    assert.deepEqual(
      order.filter((id) => id !== '2'),
      ['1', '3'],
    );
    assert.equal(order.filter((id) => id === '2').length, 3);
    assert.deepEqual(await letters(stage.bus, queue.durable), ['2: failed 3 times: not this one']);
    assert.equal(subscriber.health().events.deadLettered, 1);
  });

  test('H-x an event that is published twice is handled once', async (stage) => {
    const queue = stage.queue('smith');
    await stage.bus.declare(queue);
    for (const id of ['1', '1', '2', '1', 'end']) {
      await stage.bus.publish(stage.exchange(), eventOf(id));
    }
    const handled: string[] = [];
    const end = Promise.withResolvers<void>();
    const subscriber = createSubscriber({
      name: 'smith',
      source: busSource(stage.bus, queue),
      handle: ({ id }) => {
        handled.push(id);
        if (id === 'end') end.resolve();
      },
    });
    await end.promise;
    await subscriber.stop();
    assert.deepEqual(handled, ['1', '2', 'end']);
    assert.equal(subscriber.health().events.duplicates, 2);
  });
}
