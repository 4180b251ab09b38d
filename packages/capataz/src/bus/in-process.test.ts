import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busSuite } from '../testing/bus-suite.ts';
import { eventOf, Inbox, one } from '../testing/bus-suite-kit.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { BusError } from './contract.ts';
import { createFaultyBus, type PublishFault } from './faulty.ts';
import { pickyCodec } from './fixtures/picky-codec.ts';
import { createInProcessBus } from './in-process.ts';

busSuite('in process', async () => {
  const clock = new VirtualClock();
  // With a clock that stands still, a publisher that waits for room would wait for ever.
  const impatient = { ...clock, now: () => clock.now(), steady: () => 0, after: immediately };
  const bus = createInProcessBus({ clock: impatient, codec: pickyCodec, fullTimeoutMs: 1 });
  return { bus, prefix: 'here', another: () => bus, close: () => bus.close() };
});

function immediately(_delayMs: number, callback: () => void): () => void {
  const timer = setImmediate(callback);
  return () => clearImmediate(timer);
}

const queue = { durable: 'smith', exchange: 'topico.tareas', patterns: ['#'] };

test('H-30 a publisher waits while a name is full and goes on when there is room, in order', async () => {
  const bus = createInProcessBus({ clock: new VirtualClock() });
  await bus.declare({ ...queue, maxLength: 2 });
  const done: string[] = [];
  for (const id of ['1', '2', '3', '4']) {
    void bus.publish('topico.tareas', eventOf(id)).then(() => done.push(id));
  }
  await bus.publish('topico.logs', eventOf('log'));
  await settle();
  assert.deepEqual(done, ['1', '2']);
  const inbox = new Inbox();
  await bus.subscribe({ ...queue, prefetch: 1 }, inbox.receive);
  (await one(inbox)).ack();
  await settle();
  assert.deepEqual(done, ['1', '2', '3']);
  (await one(inbox, 2)).ack();
  (await one(inbox, 3)).ack();
  assert.equal((await one(inbox, 4)).event.id, '4');
});

test('H-30 a publisher that finds no room in time is refused, and its event is nowhere', async () => {
  const clock = new VirtualClock();
  const bus = createInProcessBus({ clock });
  await bus.declare({ ...queue, maxLength: 1 });
  await bus.declare({ ...queue, durable: 'roomy' });
  await bus.publish('topico.tareas', eventOf('1'));
  const refused = assert.rejects(
    bus.publish('topico.tareas', eventOf('2')),
    (error) => error instanceof BusError && error.code === 'full',
  );
  await clock.advance(30_000);
  await refused;
  const inbox = new Inbox();
  await bus.subscribe({ ...queue, durable: 'roomy' }, inbox.receive);
  await settle();
  assert.deepEqual(inbox.ids, ['1']);
});

test('closing lets nobody wait', async () => {
  const bus = createInProcessBus({ clock: new VirtualClock() });
  await bus.declare({ ...queue, maxLength: 1 });
  await bus.publish('topico.tareas', eventOf('1'));
  const waiting = bus.publish('topico.tareas', eventOf('2'));
  const refused = assert.rejects(
    waiting,
    (error) => error instanceof BusError && error.code === 'closed',
  );
  await bus.close();
  await refused;
});

test('faults at will: refused, dropped, doubled, swapped and late events, and a lost link', async () => {
  const clock = new VirtualClock();
  const faults: Record<string, PublishFault> = {
    refused: 'refuse',
    dropped: 'drop',
    doubled: 'duplicate',
    swapped: 'swap',
    late: { delayMs: 50 },
  };
  const inner = createInProcessBus({ clock });
  const bus = createFaultyBus(inner, { clock, fault: ({ id }) => faults[id] ?? 'none' });
  const inbox = new Inbox();
  const subscription = await bus.subscribe(queue, inbox.receive);
  await assert.rejects(bus.publish('topico.tareas', eventOf('refused')), BusError);
  for (const id of ['dropped', 'late', 'swapped', 'next', 'doubled']) {
    await bus.publish('topico.tareas', eventOf(id));
  }
  await clock.advance(50);
  assert.deepEqual(inbox.ids, ['next', 'swapped', 'doubled', 'doubled', 'late']);
  await bus.disconnect();
  assert.ok((await subscription.ended) instanceof BusError);
  await assert.rejects(bus.subscribe(queue, inbox.receive), BusError);
  await assert.rejects(bus.publish('topico.tareas', eventOf('x')), BusError);
  bus.reconnect();
  const again = new Inbox();
  await bus.subscribe(queue, again.receive);
  assert.equal((await one(again)).deliveries, 2);
});

test('confirmed by handling, a publisher waits for every name, and is refused where one gives the event up', async () => {
  const bus = createInProcessBus({ clock: new VirtualClock(), confirm: 'handled' });
  const [smith, clerk] = [new Inbox(), new Inbox()];
  await bus.subscribe(queue, smith.receive);
  await bus.subscribe({ ...queue, durable: 'clerk' }, clerk.receive);
  const done: string[] = [];
  const publish = (id: string) =>
    bus.publish('topico.tareas', eventOf(id)).then(
      () => done.push(`${id} taken`),
      (error: unknown) => done.push(`${id} ${error instanceof BusError ? error.code : error}`),
    );
  void publish('1');
  void publish('2');
  (await one(smith)).ack();
  await settle();
  assert.deepEqual(done, []);
  (await one(clerk)).ack();
  await settle();
  assert.deepEqual(done, ['1 taken']);
  await (await one(smith, 2)).deadLetter('it is broken');
  await settle();
  assert.deepEqual(done, ['1 taken', '2 given_up']);
  // It lies with whoever published it.
  assert.deepEqual(await bus.reviewDead('smith', () => 'keep'), { keep: 0, redrive: 0, drop: 0 });
  await bus.publish('topico.logs', eventOf('nobody listens'));
  void publish('3');
  await bus.close();
  await settle();
  assert.equal(done.at(-1), '3 closed');
});
