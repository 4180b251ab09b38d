import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventPage } from '../store/contract.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { LiveFeed, Wake } from './live-feed.ts';

class Events {
  readonly reads: number[] = [];
  tell: (jobId: string | null) => void = () => {};
  isFailing = false;
  listeners = 0;

  subscribe(listener: (jobId: string | null) => void): () => void {
    this.tell = listener;
    this.listeners += 1;
    return () => (this.listeners -= 1);
  }

  async read(after: number): Promise<EventPage> {
    this.reads.push(after);
    if (this.isFailing) throw new Error('the store is down');
    return { events: [], position: after };
  }
}

test('what lies behind a position is read once for all streams, until something new is told', async () => {
  const events = new Events();
  const clock = new VirtualClock();
  const feed = new LiveFeed(events, clock);
  feed.onAny(new Wake());
  const pages = await Promise.all(Array.from({ length: 1_000 }, () => feed.page(7)));
  assert.deepEqual([events.reads, new Set(pages).size], [[7], 1]);
  events.tell('job');
  assert.notEqual(await feed.page(7), pages[0]);
  await feed.page(7);
  assert.deepEqual(events.reads, [7, 7]);
  await clock.advance(1_000);
  await feed.page(7);
  assert.equal(events.reads.length, 3, 'a message of another instance may be lost');
});

test('only a few positions are remembered, and no failure', async () => {
  const events = new Events();
  const feed = new LiveFeed(events, new VirtualClock());
  for (let position = 0; position < 20; position += 1) await feed.page(position);
  await feed.page(19);
  assert.equal(events.reads.length, 20);
  await feed.page(0);
  assert.equal(events.reads.length, 21);
  events.isFailing = true;
  await assert.rejects(feed.page(50));
  events.isFailing = false;
  assert.deepEqual(await feed.page(50), { events: [], position: 50 });
});

test('it follows the engine while anybody listens, and rings those that a message is for', async () => {
  const events = new Events();
  const feed = new LiveFeed(events, new VirtualClock());
  assert.equal(events.listeners, 0);
  const rung: string[] = [];
  const wakeOf = (name: string): Wake => {
    const wake = new Wake();
    wake.ring = () => void rung.push(name);
    return wake;
  };
  const leave = [
    feed.onJob('a', wakeOf('a')),
    feed.onJob('b', wakeOf('b')),
    feed.onAny(wakeOf('any')),
  ];
  assert.equal(events.listeners, 1);
  events.tell('b');
  assert.deepEqual(rung.splice(0), ['b', 'any']);
  events.tell(null);
  assert.deepEqual(rung, ['a', 'b', 'any']);
  for (const end of leave) end();
  assert.equal(events.listeners, 0);
  feed.onAny(wakeOf('again'));
  assert.equal(events.listeners, 1);
});
