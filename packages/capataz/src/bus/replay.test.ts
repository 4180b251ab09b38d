import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventOf } from '../testing/bus-suite-kit.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { ScriptedSource } from './fixtures/scripted-source.ts';
import type { EventHandler } from './handling.ts';
import type { EventLog, LoggedEvent } from './replay.ts';
import { createSubscriber, type SubscriberOptions } from './subscriber.ts';

const second = 1_000;

/** A log in memory, whose calls fail when a test says so. */
class MemoryLog implements EventLog {
  readonly events: LoggedEvent[] = [];
  readonly dead: string[] = [];
  saved: string | null = null;
  mostRead = 0;
  isBroken = false;

  add(...ids: string[]): void {
    for (const id of ids) {
      this.events.push({ event: eventOf(id), position: String(this.events.length + 1) });
    }
  }

  async position(): Promise<string | null> {
    this.#check();
    return this.saved;
  }

  async save(position: string): Promise<void> {
    this.#check();
    this.saved = position;
  }

  async read(after: string | null, limit: number): Promise<readonly LoggedEvent[]> {
    this.#check();
    const page = this.events.slice(Number(after ?? 0), Number(after ?? 0) + limit);
    this.mostRead = Math.max(this.mostRead, page.length);
    return page;
  }

  async deadLetter({ id }: { id: string }, reason: string): Promise<void> {
    this.dead.push(`${id}: ${reason}`);
  }

  #check(): void {
    if (this.isBroken) throw new Error('the store is away');
  }
}

function sceneOf(log: MemoryLog, options: Partial<SubscriberOptions> = {}) {
  const clock = new VirtualClock();
  const source = new ScriptedSource(clock, log);
  const handled: string[] = [];
  const handle: EventHandler = ({ id }) => void handled.push(id);
  const subscriber = createSubscriber({ name: 'smith', source, clock, handle, ...options });
  return { clock, source, handled, subscriber };
}

test('H-n what was stored while away is read from the stored position, then live signals wake the reader', async () => {
  const log = new MemoryLog();
  log.add('1', '2', '3');
  log.saved = '1';
  const { clock, source, handled, subscriber } = sceneOf(log);
  await settle();
  assert.deepEqual([handled, log.saved], [['2', '3'], '3']);
  log.add('4');
  source.deliver('a signal that carries nothing');
  await settle();
  assert.deepEqual([handled, log.saved], [['2', '3', '4'], '4']);
  source.lose();
  log.add('5', '6');
  await clock.advance(second);
  assert.deepEqual(handled, ['2', '3', '4', '5', '6']);
  assert.equal(subscriber.health().events.duplicates, 0);
  await subscriber.stop();
});

test('H-n B-076 a signal that was lost on a link that seems well is made up for within 30 s', async () => {
  const log = new MemoryLog();
  const { clock, handled, subscriber } = sceneOf(log);
  await settle();
  log.add('1');
  await clock.advance(30 * second);
  assert.deepEqual(handled, ['1']);
  await subscriber.stop();
  assert.equal(clock.pending, 0);
});

test('H-30 a long log is read as the handler gets on, never more than the buffer ahead', async () => {
  const log = new MemoryLog();
  log.add(...Array.from({ length: 1_000 }, (_, number) => String(number)));
  let mostHeld = 0;
  const { handled, subscriber } = sceneOf(log, {
    buffer: 10,
    handle: async ({ id }) => {
      await settle();
      mostHeld = Math.max(mostHeld, subscriber.health().held);
      handled.push(id);
    },
  });
  while (log.saved !== '1000') await settle();
  assert.equal(handled.length, 1_000);
  assert.deepEqual([mostHeld, log.mostRead], [10, 10]);
  await subscriber.stop();
});

test('H-n the position never passes an event that is not done: a restart reads it again', async () => {
  const log = new MemoryLog();
  log.add('1', 'bad', '3');
  const handle: EventHandler = ({ id }) => {
    if (id === 'bad') throw new Error('not yet');
  };
  const first = sceneOf(log, { handle });
  await settle();
  assert.equal(log.saved, '1');
  await first.subscriber.stop();
  const second = sceneOf(log);
  await settle();
  assert.deepEqual([second.handled, log.saved], [['bad', '3'], '3']);
  await second.subscriber.stop();
});

test('H-n an event that goes on failing becomes a dead letter and is passed', async () => {
  const log = new MemoryLog();
  log.add('bad', '2');
  const handle: EventHandler = ({ id }) => {
    if (id === 'bad') throw new Error('never');
  };
  const { clock, subscriber } = sceneOf(log, { handle, maxFailures: 2 });
  await clock.advance(2 * second);
  assert.deepEqual([log.dead, log.saved], [['bad: failed 2 times: never'], '2']);
  await subscriber.stop();
});

test('H-25 a log that can’t be read or written is an outage like any other, and nothing is handled twice', async () => {
  const log = new MemoryLog();
  log.add('1');
  log.isBroken = true;
  const { clock, source, handled, subscriber } = sceneOf(log);
  await settle();
  assert.deepEqual([subscriber.health().status, source.open], ['down', 0]);
  log.isBroken = false;
  await clock.advance(second);
  assert.deepEqual([handled, log.saved], [['1'], '1']);
  log.add('2');
  log.isBroken = true;
  source.deliver('signal');
  await settle();
  assert.equal(subscriber.health().status, 'down');
  log.isBroken = false;
  await clock.advance(4 * second);
  assert.deepEqual([handled, log.saved], [['1', '2'], '2']);
  await subscriber.stop();
});
