import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventPage } from '../store/contract.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { LiveFeed } from './live-feed.ts';

class Events {
  readonly reads: number[] = [];
  tell: (jobId: string) => void = () => {};
  isFailing = false;

  subscribe(listener: (jobId: string) => void): () => void {
    this.tell = listener;
    return () => {};
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
  const pages = await Promise.all(Array.from({ length: 1_000 }, () => feed.page(7)));
  assert.deepEqual([events.reads, new Set(pages).size], [[7], 1]);
  events.tell('job');
  assert.notEqual(await feed.page(7), pages[0]);
  await feed.page(7);
  assert.deepEqual(events.reads, [7, 7]);
  await clock.advance(1_000);
  await feed.page(7);
  assert.equal(events.reads.length, 3, 'another instance tells nothing');
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
