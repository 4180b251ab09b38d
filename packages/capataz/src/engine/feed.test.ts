import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../std/log.ts';
import type { JobEvent } from '../store/contract.ts';
import { Feed, type FeedOptions } from './feed.ts';
import { oneTask, startWorld, type World } from './fixtures.ts';

/** An application's own table: events and position move together. */
class Projection {
  position = 0;
  readonly seen: JobEvent[] = [];
  failures = 0;

  options(fields: Partial<FeedOptions> = {}): FeedOptions {
    return {
      name: 'projection',
      position: () => this.position,
      apply: (events, position) => {
        if (this.failures > 0) {
          this.failures -= 1;
          throw new Error('the table is locked');
        }
        this.seen.push(...events);
        this.position = position;
      },
      ...fields,
    };
  }
}

function feedOf(world: World, options: FeedOptions): Feed {
  const { clock } = world;
  return new Feed(options, { events: world.engine.events, clock, log: silentLog });
}

async function finish(world: World): Promise<string> {
  const worker = await world.worker('w');
  const id = await world.create('one-task');
  await worker.report(await worker.takeOne());
  await world.settle();
  return id;
}

test('S-66 a feed delivers each job’s entries once and in order, before and after it was started', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const first = await finish(world);
  const projection = new Projection();
  const feed = feedOf(world, projection.options());
  feed.start();
  await world.settle();
  const second = await finish(world);
  for (const id of [first, second]) {
    const entries = projection.seen.filter(({ jobId }) => jobId === id).map(({ entry }) => entry);
    assert.deepEqual(entries, await world.history(id));
  }
  await feed.stop();
});

test('S-66 what could not be applied comes again, and a restart goes on at the stored position', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const projection = new Projection();
  projection.failures = 3;
  let feed = feedOf(world, projection.options());
  feed.start();
  const id = await finish(world);
  await world.advance(10_000);
  await feed.stop();
  const before = projection.seen.length;
  assert.deepEqual(projection.seen.length, (await world.history(id)).length);
  await world.restart();
  feed = feedOf(world, projection.options());
  feed.start();
  await finish(world);
  assert.ok(projection.seen.length > before);
  const keys = projection.seen.map(({ jobId, entry }) => `${jobId} ${entry.seq}`);
  assert.equal(new Set(keys).size, keys.length);
  await feed.stop();
});

test('S-66 a filter leaves out what nobody asked for, and the position moves on over it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const projection = new Projection();
  const filter = ({ entry }: JobEvent): boolean => entry.type === 'job_finished';
  const feed = feedOf(world, projection.options({ filter }));
  feed.start();
  await finish(world);
  assert.deepEqual(
    projection.seen.map(({ entry }) => entry.type),
    ['job_finished'],
  );
  const { position } = await world.truth.events(0, 1_000);
  assert.equal(projection.position, position);
  await feed.stop();
});
