import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Emitted } from '../core/change.ts';
import type { News, Store } from '../store/contract.ts';
import { alsoOf, changeOf, newJob, second, store1, workerOf } from './store-suite-kit.ts';
import { until } from './until.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Two stores on the same data, as two instances have them. */
export interface Instances {
  readonly one: Store;
  readonly two: Store;
  readonly clock: VirtualClock;
  close(): Promise<void>;
}

/** What stores of several instances must do beyond the conformance suite. `open` gives empty ones. */
export function instancesSuite(name: string, open: () => Promise<Instances>): void {
  const test = (title: string, body: (instances: Instances) => Promise<void>): void => {
    it(title, async () => {
      const instances = await open();
      try {
        await body(instances);
      } finally {
        await instances.close();
      }
    });
  };
  describe(`two instances on the store ${name}`, () => {
    outboxTests(test);
    newsTests(test);
  });
}

type InstancesTest = (title: string, body: (instances: Instances) => Promise<void>) => void;

const hold = 30 * second;

function emitted(id: string, number: number): Emitted {
  return { id, number, exchange: 'topic', name: 'done', payload: {} };
}

async function emit(store: Store, job: string, ...ids: readonly string[]): Promise<void> {
  const emits = ids.map((id, index) => emitted(id, index + 1));
  await store1(store, changeOf(newJob(job), { also: alsoOf({ emits }) }));
}

async function eventIds(store: Store): Promise<string[]> {
  return (await store.outbox(10, hold)).events.map(({ id }) => id);
}

function outboxTests(test: InstancesTest): void {
  test('A-61 what one instance publishes is left alone by the other', async ({ one, two }) => {
    await emit(one, 'a', 'e1', 'e2');
    await emit(two, 'b', 'e3');
    assert.deepEqual(await eventIds(one), ['e1', 'e3']);
    assert.deepEqual(await eventIds(two), []);
    assert.deepEqual(await eventIds(one), ['e1', 'e3']);
    await one.settleOutbox([{ type: 'published', id: 'e1' }]);
    assert.deepEqual(await eventIds(two), ['e2']);
    assert.deepEqual(await eventIds(one), ['e3']);
  });

  test('A-61 what a dead instance was about to publish goes to the other in time', async ({
    one,
    two,
    clock,
  }) => {
    await emit(one, 'a', 'e1');
    assert.deepEqual(await eventIds(one), ['e1']);
    await clock.advance(hold - second);
    assert.deepEqual(await eventIds(one), ['e1'], 'it lives, and asks again');
    await clock.advance(hold - second);
    assert.deepEqual(await eventIds(two), []);
    await clock.advance(second);
    assert.deepEqual(await eventIds(two), ['e1']);
    assert.deepEqual(await eventIds(one), []);
  });

  test('A-61 an event that was refused is free for whoever comes first', async ({
    one,
    two,
    clock,
  }) => {
    await emit(one, 'a', 'e1');
    await eventIds(one);
    const verdict = { type: 'failed', id: 'e1', error: 'no', retryAfterMs: second } as const;
    await one.settleOutbox([verdict]);
    await clock.advance(second);
    assert.deepEqual(await eventIds(two), ['e1']);
  });
}

function newsTests(test: InstancesTest): void {
  test('H-n S-48 the other instance hears of a commit and of workers, and not of its own', async ({
    one,
    two,
  }) => {
    const [own, others]: [News[], News[]] = [[], []];
    one.subscribe((news) => own.push(news));
    const end = two.subscribe((news) => others.push(news));
    const isTold = async (expected: News): Promise<void> =>
      until(() => others.some((news) => JSON.stringify(news) === JSON.stringify(expected)));
    await isListening(one, others);
    await store1(one, changeOf(newJob('b')));
    await isTold({ type: 'commit' });
    await one.saveWorker(workerOf('w 1'), second);
    await isTold({ type: 'worker', id: 'w 1' });
    others.length = 0;
    await one.touchWorkers([{ id: 'w 1', silentAfterMs: second }]);
    await one.removeWorker('w 1', 'w 1-1');
    await isTold({ type: 'worker', id: 'w 1' });
    assert.equal(others.length, 1, 'a sign of life is no news');
    end();
    await store1(one, changeOf(newJob('c')));
    assert.equal(others.length, 1);
    assert.deepEqual(
      own.filter(({ type }) => type !== 'anything'),
      [],
    );
  });
}

/** Whoever has just begun to listen may miss the first commits: `anything` comes then. */
async function isListening(writer: Store, heard: readonly News[]): Promise<void> {
  await store1(writer, changeOf(newJob('a')));
  await until(() => heard.length > 0);
}
