import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Filled } from '../testing/full-store.ts';
import {
  awaitingEvent,
  changeOf,
  claimedIds,
  classKey,
  deadlinesOf,
  early,
  ending,
  inboxIds,
  newJob,
  read,
  second,
  signalOf,
  store1,
  types,
} from '../testing/store-suite-kit.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Chest } from './chest.ts';
import { Places } from './fixtures/places.ts';
import { move } from './move.ts';
import { tables as postgresTables } from './postgres/shelves.ts';
import { openReading, openWriting } from './sqlite/database.ts';
import { storePaths } from './sqlite/paths.ts';
import { shelves as sqliteShelves } from './sqlite/shelves.ts';

const places = new Places();
const kinds = ['sqlite', 'postgres'] as const;

describe('move', () => {
  for (const from of kinds) {
    for (const to of kinds) {
      it(`S-50 carries everything from ${from} to ${to}, and back`, async () => {
        const clock = new VirtualClock();
        const { place: source, everything } = await places.full(from, clock);
        const target = places.new(to);
        const there = await places.move(source, target);
        assert.deepEqual(await places.everything(target, clock), everything);
        const home = places.new(from);
        const back = await places.move(target, home);
        assert.deepEqual(back.kinds, there.kinds);
        const missing = there.kinds.filter(({ records }) => records === 0);
        assert.deepEqual(missing, [], 'the store that is moved has something of every kind');
        assert.deepEqual(await places.everything(home, clock), everything);
        const store = await places.open(home, clock);
        await goesOn({ store, clock });
        await store.close();
        await places.remove(source, target, home);
      });
    }

    it(`S-50 a store on ${from} that was moved is refused, and says where to`, async () => {
      const clock = new VirtualClock();
      const { place: source } = await places.full(from, clock);
      const target = places.new('sqlite');
      await places.move(source, target);
      const { database } = storePaths({ folder: target.name });
      const refusal = { code: 'STORE_MOVED', message: new RegExp(`was moved to ${database}:`) };
      await assert.rejects(places.open(source, clock), refusal);
      await assert.rejects(places.move(source, places.new('sqlite')), refusal);
      // Back into it there is no way as long as it holds what was left behind.
      await assert.rejects(places.move(target, source), { code: 'STORE_NOT_EMPTY' });
      await places.remove(source);
      await places.move(target, source);
      await (await places.open(source, clock)).close();
      await places.remove(source, target);
    });

    it(`S-50 a store on ${from} that is open is moved neither from nor to, nor opened while it is moved`, async () => {
      const clock = new VirtualClock();
      const { place } = await places.full(from, clock);
      const store = await places.open(place, clock);
      const inUse = { code: 'STORE_IN_USE' };
      await assert.rejects(places.chest(place), inUse);
      await store.close();
      const chest = await places.chest(place);
      await assert.rejects(places.open(place, clock), inUse);
      await chest.close();
      await (await places.open(place, clock)).close();
      await places.remove(place);
    });

    it(`S-50 a target on ${from} that holds something is refused, one that is only there is not`, async () => {
      const clock = new VirtualClock();
      const { place: source } = await places.full('sqlite', clock);
      const { place: full } = await places.full(from, clock);
      await assert.rejects(places.move(source, full), {
        code: 'STORE_NOT_EMPTY',
        message: /holds records \(2 blueprint, 2 worker, 3 ended_job/,
      });
      const empty = places.new(from);
      await (await places.open(empty, clock)).close();
      await places.move(source, empty);
      await places.remove(source, full, empty);
    });

    it(`S-50 a record that ${from} gives back otherwise leaves the target incomplete, the source as it was`, async () => {
      const clock = new VirtualClock();
      const { place: source, everything } = await places.full('sqlite', clock);
      const target = places.new(from);
      const chests = [await places.chest(source), await places.chest(target)] as const;
      const [one, two] = chests;
      await assert.rejects(move({ from: one, to: forgetting(two), id: 'move-1' }), {
        code: 'STORE_INCOMPLETE',
        message: /gives back of memo is not what was written: 0 records for 1/,
      });
      for (const chest of chests) await chest.close();
      await assert.rejects(places.open(target, clock), { code: 'STORE_INCOMPLETE' });
      assert.deepEqual(await places.everything(source, clock), everything);
      await places.remove(source, target);
    });
  }

  it('S-50 positions stay, however far apart they lie', async () => {
    const clock = new VirtualClock();
    const { place: source } = await places.full('sqlite', clock);
    const database = openWriting(storePaths({ folder: source.name }).database, 'full');
    database.exec("INSERT OR REPLACE INTO counters VALUES ('position', 45000000)");
    database.close();
    const store = await places.open(source, clock);
    await store1(store, changeOf(newJob('far')));
    await store.close();
    const everything = await places.everything(source, clock);
    const target = places.new('postgres');
    await places.move(source, target);
    assert.deepEqual(await places.everything(target, clock), everything);
    const moved = await places.open(target, clock);
    await store1(moved, changeOf(newJob('farther')));
    const { events } = await moved.events(45_000_001, 9);
    assert.deepEqual(
      events.map(({ position, jobId }) => [position, jobId]),
      [[45_000_002, 'farther']],
    );
    await moved.close();
    await places.remove(source, target);
  });

  it('S-50 every table of a store is on a shelf', async () => {
    const clock = new VirtualClock();
    const own = ['migrations', 'moves'];
    const { place: sqlite } = await places.full('sqlite', clock);
    const database = openReading(storePaths({ folder: sqlite.name }).database);
    const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    database.close();
    const texts = Object.values(sqliteShelves).map((shelf) => shelf.read);
    const derived = ['classes', 'attributes'];
    const unread = rows
      .map(({ name }) => String(name))
      .filter((name) => !texts.some((text) => new RegExp(`(FROM|JOIN) ${name}\\b`).test(text)));
    assert.deepEqual(unread.sort(), [...own, ...derived].sort());
    const { place: postgres } = await places.full('postgres', clock);
    const found = await places.schemas.pool.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
      WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
      [postgres.name],
    );
    const names = found.rows.map(({ name }) => name);
    assert.deepEqual(names.sort(), [...own, 'history_parts', ...postgresTables].sort());
    await places.remove(sqlite, postgres);
  });
});

/** One that loses the memos. */
function forgetting(chest: Chest): Chest {
  return new Proxy(chest, {
    get: (target, name) => {
      if (name === 'write') {
        const write: Chest['write'] = async (kind, records) =>
          kind === 'memo' ? undefined : target.write(kind, records);
        return write;
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** What reading does not show: lines, orders, numbers and fences. */
async function goesOn({ store, clock }: Filled): Promise<void> {
  const all = { max: 9, maxSuspects: 9, worker: 'w2' };
  assert.deepEqual(await claimedIds(store, all), ['suspect', 'queued']);
  const branches = { lanes: [[classKey({ skill: 'branch' })]], max: 9 };
  assert.deepEqual(await claimedIds(store, branches), ['fan', 'fan']);
  const outcomes = await types(
    store,
    { change: changeOf(newJob('again')), idempotency: { key: 'ended-once', bodyHash: 'h2' } },
    { change: changeOf(newJob('once-more')), idempotency: { key: 'once', bodyHash: 'other' } },
    early(await read(store, 'event'), signalOf('s1')),
    changeOf(newJob('ended-b')),
  );
  assert.deepEqual(outcomes, ['duplicate', 'conflict', 'seen', 'exists']);
  // The place of the holder goes to who has waited longest.
  const before = await deadlinesOf(store, 'second');
  await store1(store, ending(await read(store, 'holder')));
  const after = await deadlinesOf(store, 'second');
  assert.ok((after.wake ?? 0) < (before.wake ?? 0));
  const late = await store1(store, awaitingEvent(newJob('late'), { keys: ['order-9'] }));
  assert.deepEqual(await inboxIds(store, late.id), ['s4', 's5']);
  const { position } = await store.events(0, 10_000);
  await clock.advance(second);
  await store1(store, changeOf(newJob('newest')));
  const { events } = await store.events(position, 10);
  assert.deepEqual(
    events.map(({ jobId }) => jobId),
    ['newest'],
  );
  const { jobIds } = await store.forgetEnded({ olderThanMs: null, keepAtMost: 3, limit: 1 });
  assert.deepEqual(jobIds, ['ended-b']);
}
