/** Commits of one store that are under way at once: one is written while the next is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type pg from 'pg';
import {
  alsoOf,
  changeOf,
  claim,
  claimOf,
  commit,
  dispatching,
  ending,
  leasing,
  newJob,
  read,
  signalOf,
  store1,
} from '../../testing/store-suite-kit.ts';
import { until } from '../../testing/until.ts';
import type { Store } from '../contract.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

interface Place {
  readonly store: Store;
  /** Whoever writes this job from now on waits, with all that it has locked, until the function is called. */
  readonly stopAt: (id: string) => Promise<() => Promise<void>>;
  /** The same for whoever takes the next position. */
  readonly stopAtPosition: () => Promise<() => Promise<void>>;
  /** Keeps an open job locked until the function is called, as a server does that is frozen in a commit. */
  readonly lock: (id: string) => Promise<() => Promise<void>>;
  /** Resolves when so many of the store's transactions wait for another. */
  readonly waiting: (count: number) => Promise<void>;
}

async function withStore(body: (place: Place) => Promise<void>): Promise<void> {
  const schema = schemas.newName();
  const store = await schemas.open(schema);
  const client: pg.PoolClient = await schemas.pool.connect();
  const hold = async (statement: string) => {
    await client.query(`BEGIN; SET LOCAL search_path = ${schema}; ${statement}`);
    return async () => void (await client.query('ROLLBACK'));
  };
  const stopAt = (id: string) =>
    hold(`INSERT INTO inputs (id, client, correlation, pinned) VALUES ('${id}', '', '', '{}')`);
  const stopAtPosition = () =>
    hold(`INSERT INTO history (position, job, seq, at, count, entries)
      SELECT last_value + 1, '', 0, 0, 0, '[]' FROM positions`);
  const lock = (id: string) => hold(`SELECT FROM jobs WHERE id = '${id}' FOR UPDATE`);
  const waiting = (count: number): Promise<void> =>
    until(async () => {
      const { rows } = await schemas.pool.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
        [`capataz ${schema}`],
      );
      return rows.length === count;
    });
  try {
    await body({ store, stopAt, stopAtPosition, lock, waiting });
  } finally {
    client.release(true);
    await store.close();
    await schemas.drop(schema);
  }
}

function typeOf([outcome]: Awaited<ReturnType<typeof commit>>): string | undefined {
  return outcome?.type;
}

test('S-4 a commit that is written holds up none that has nothing to do with it', () =>
  withStore(async ({ store, stopAt, waiting }) => {
    const goOn = await stopAt('slow');
    const slow = commit(store, changeOf(newJob('slow')));
    await waiting(1);
    assert.equal(typeOf(await commit(store, changeOf(newJob('quick')))), 'done');
    assert.equal(typeOf(await commit(store, changeOf(newJob('another')))), 'done');
    assert.equal(await store.job('slow'), null);
    await goOn();
    assert.equal(typeOf(await slow), 'done');
  }));

test('S-48 of two that change one job the later waits for the earlier, and is stale', () =>
  withStore(async ({ store, stopAt, waiting }) => {
    const job = await store1(store, changeOf(newJob('j')));
    const goOn = await stopAt('slow');
    const first = commit(store, changeOf({ ...job, state: 'first' }), changeOf(newJob('slow')));
    await waiting(1);
    const second = commit(store, changeOf({ ...job, state: 'second' }));
    await waiting(2);
    await goOn();
    assert.equal(typeOf(await first), 'done');
    assert.equal(typeOf(await second), 'stale');
    assert.equal((await read(store, 'j')).state, 'first');
    assert.equal((await store.history('j', 0, 9)).length, 2);
  }));

test('A-60 what is being handed out is passed over by the next commit', () =>
  withStore(async ({ store, stopAt, waiting }) => {
    await commit(store, ...['a', 'b', 'c'].map((id) => dispatching(id)));
    const goOn = await stopAt('slow');
    const first = store.commit({
      changes: [{ change: changeOf(newJob('slow')) }],
      claims: [claimOf({ max: 2 })],
    });
    await waiting(1);
    const { tasks, drained } = await claim(store, { max: 9 });
    assert.deepEqual(
      tasks.map(({ jobId }) => jobId),
      ['c'],
    );
    // The two are queued until the other commit is visible: it may still fail.
    assert.deepEqual(drained, []);
    await goOn();
    const { claims } = await first;
    assert.deepEqual(
      claims[0]?.tasks.map(({ jobId }) => jobId),
      ['a', 'b'],
    );
  }));

test('S-46 events of a commit are held back while one with lower positions is under way', () =>
  withStore(async ({ store, stopAtPosition, waiting }) => {
    const job = await store1(store, changeOf(newJob('j')));
    const ids = async () => (await store.events(0, 9)).events.map(({ jobId }) => jobId);
    const goOn = await stopAtPosition();
    const slow = commit(store, changeOf(newJob('slow')));
    await waiting(1);
    assert.equal(typeOf(await commit(store, ending(job))), 'done');
    assert.deepEqual(await ids(), ['j']);
    await goOn();
    await slow;
    assert.deepEqual(await ids(), ['j', 'slow', 'j', 'j']);
  }));

test('a store that is closed finishes both that are under way', () =>
  withStore(async ({ store, stopAt, waiting }) => {
    const goOn = await stopAt('slow');
    const slow = commit(store, changeOf(newJob('slow')));
    await waiting(1);
    const same = commit(store, changeOf(newJob('slow', { client: 'other' })));
    await waiting(2);
    const closed = store.close();
    await goOn();
    const types = (await Promise.all([slow, same])).map(typeOf);
    assert.deepEqual(types.sort(), ['done', 'exists']);
    await closed;
  }));

test('S-4 B-022 a job that somebody keeps locked is refused; what travels with it is stored', () =>
  withStore(async ({ store, lock, waiting }) => {
    const [stuck, other] = [await store1(store, changeOf(newJob('stuck'))), newJob('other')];
    const letGo = await lock('stuck');
    const refused = commit(store, changeOf({ ...stuck, state: 'moved' }));
    const stored = commit(store, changeOf(other));
    await assert.rejects(refused, { code: 'STORE_BUSY' });
    assert.equal(typeOf(await stored), 'done');
    // From now on nobody waits for it at all.
    const again = commit(store, changeOf({ ...stuck, state: 'moved' }));
    const more = commit(store, changeOf(newJob('more')));
    await waiting(0);
    await assert.rejects(again, { code: 'STORE_BUSY' });
    assert.equal(typeOf(await more), 'done');
    await letGo();
    assert.equal(typeOf(await commit(store, changeOf({ ...stuck, state: 'moved' }))), 'done');
  }));

function listening(id: string, key: string) {
  return changeOf(newJob(id), { also: alsoOf({ keys: [key] }) });
}

test('S-4 B-022 a letter to a job that is locked is refused, and letters to others arrive', () =>
  withStore(async ({ store, lock }) => {
    await store1(store, listening('stuck', 'order-1'));
    await store1(store, listening('free', 'order-2'));
    const letGo = await lock('stuck');
    const send = (key: string) => {
      const letter = { client: 'dev', key, item: signalOf(`s-${key}`), keepForMs: 0 };
      return store.commit({ letters: [letter] });
    };
    const sent = [send('order-1'), send('order-2')] as const;
    await assert.rejects(sent[0], { code: 'STORE_BUSY' });
    assert.deepEqual((await sent[1]).letters, [['free']]);
    await letGo();
    assert.deepEqual((await send('order-1')).letters, [['stuck']]);
  }));

test('S-43 the leases of others are renewed while one job is locked, whose own is not lost', () =>
  withStore(async ({ store, lock }) => {
    for (const id of ['stuck', 'free']) await store1(store, leasing(newJob(id), `t-${id}`, 1_000));
    const letGo = await lock('stuck');
    const leases = ['stuck', 'free', 'none'].map((id) => {
      return { jobId: id, token: `t-${id}`, forMs: 60_000 };
    });
    assert.deepEqual(await store.renewLeases(leases), ['t-none']);
    const ends = async (id: string) => (await store.causes({ id }))[0]?.leaseEndsAt ?? 0;
    assert.ok((await ends('free')) > (await ends('stuck')) + 30_000);
    await letGo();
  }));
