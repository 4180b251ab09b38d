/** Books that lie in two databases, on real ones. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { silentLog } from '../std/log.ts';
import type { Archive, EventPage, JobEvent, Store } from '../store/contract.ts';
import { ArchivePlaces } from '../store/fixtures/archives.ts';
import { MemoryData, openMemoryStore } from '../store/memory/index.ts';
import { bookOf, eventPageOf } from '../store/rows.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { storeSuite } from '../testing/store-suite.ts';
import {
  changeOf,
  commit,
  dispatching,
  ending,
  newJob,
  read,
  type StoreUnderTest,
  store1,
} from '../testing/store-suite-kit.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Archivist, movedAfterMs } from './archivist.ts';
import { Books } from './books.ts';
import { hasty, restless, withVerbs } from './fixtures/apart.ts';

const places = new ArchivePlaces();

const kinds = ['sqlite', 'postgres'] as const;

/** What every store must do, with its books on the move all the time; moving them is the store's own part. */
for (const kind of kinds) {
  const open = async (): Promise<StoreUnderTest> => {
    const place = places.new(kind);
    const archive = places.open(place);
    const sut = await storeOf(kind, place.name);
    return {
      store: restless(sut.store, archive),
      clock: sut.clock,
      reopen: async () => restless(await sut.reopen(), archive),
      close: async () => {
        await archive.close();
        await sut.close();
        await places.remove(place);
      },
    };
  };
  storeSuite(`${kind}, with its history apart (A-73)`, open, ['books']);
}

async function storeOf(kind: (typeof kinds)[number], name: string): Promise<StoreUnderTest> {
  if (kind === 'postgres') return places.schemas.storeUnderTest();
  const clock = new VirtualClock();
  const folder = `${name}-store`;
  let store = await openSqliteStore({ folder, clock });
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      store = await openSqliteStore({ folder, clock });
      return store;
    },
    close: () => store.close(),
  };
}

/** Jobs that ended in another order than they began, one that is open, and the whole of all books. */
async function fill(store: Store): Promise<EventPage> {
  for (const id of ['a', 'b', 'c', 'd']) await store1(store, dispatching(id));
  const two = [{ type: 'timer_set' }, { type: 'job_held' }] as const;
  for (const id of ['c', 'a', 'd']) {
    await store1(store, changeOf(await read(store, id), { history: two }));
    const [task] = await store.tasks([id]);
    await store1(store, ending(await read(store, id), task ?? null));
  }
  await commit(store, changeOf(newJob('e', { status: 'failed' })));
  await store.commit({ notes: [{ jobId: 'c', entries: [{ type: 'report_refused' }] }] });
  return store.events(0, 999);
}

async function allEvents(books: Pick<Books, 'events'>, limit: number): Promise<JobEvent[]> {
  const all: JobEvent[] = [];
  for (let position = 0; ; ) {
    const page = await books.events(position, limit);
    if (page.events.length === 0) return all;
    all.push(...page.events);
    ({ position } = page);
  }
}

describe('history apart', () => {
  it('A-73 a reader of all jobs gets each entry once and in order, wherever moving has come to between two of its questions', async () => {
    const { events: truth } = await fill(
      openMemoryStore(new MemoryData(), { clock: new VirtualClock() }),
    );
    for (let begin = 0; begin < 12; begin += 1) {
      for (const limit of [1, 2, 3, 5, 50]) {
        const fresh = openMemoryStore(new MemoryData(), { clock: new VirtualClock() });
        const empty = memoryArchive();
        await fill(fresh);
        const found = await allEvents(disturbed(fresh, empty, begin), limit);
        assert.deepEqual(found, truth, `moved from question ${begin} on, ${limit} at once`);
      }
    }
  });

  it('A-73 a job can be read from any sequence on, whatever of its book was moved', async () => {
    const store = openMemoryStore(new MemoryData(), { clock: new VirtualClock() });
    const archive = memoryArchive();
    await fill(store);
    const truth = await store.history('c', 0, 99);
    const books = new Books(store, archive);
    for (;;) {
      for (let after = 0; after <= truth.length; after += 1) {
        for (const limit of [1, 2, 99]) {
          const page = await books.history('c', after, limit);
          assert.deepEqual(page, truth.slice(after, after + limit));
        }
      }
      const page = await store.booksToMove(0, 1);
      if (page.rows.length === 0 && !page.more) break;
      await archive.write(page.rows);
      await store.booksMoved({ ...page, isArchived: true });
    }
    assert.deepEqual(await store.history('c', 0, 99), []);
  });

  it('A-45 A-73 while the archive is away jobs go on, entries stay, and it is said once that it is gone and that it is back', async () => {
    const clock = new VirtualClock();
    const store = openMemoryStore(new MemoryData(), { clock });
    const inner = memoryArchive();
    let isAway = true;
    const archive: Archive = {
      ...inner,
      write: (rows) => (isAway ? Promise.reject(new Error('no disk')) : inner.write(rows)),
    };
    const { events: truth } = await fill(store);
    await clock.advance(movedAfterMs);
    const { log, lines } = listeningLog();
    const archivist = new Archivist({ store, archive, log });
    await archivist.sweep();
    await archivist.sweep();
    assert.deepEqual((await store.events(0, 999)).events, truth);
    isAway = false;
    await archivist.sweep();
    await archivist.sweep();
    assert.deepEqual(await allEvents(new Books(store, archive), 9), truth);
    assert.deepEqual(
      (await store.events(0, 99)).events.map(({ jobId }) => jobId),
      ['b'],
    );
    assert.deepEqual(
      lines.map(({ message }) => message),
      [
        'history can not be moved to its database; it stays in the store meanwhile',
        'history is moved to its database again',
      ],
    );
  });

  it('A-46 A-73 the archive forgets what retention has forgotten, also when it was away meanwhile', async () => {
    const store = openMemoryStore(new MemoryData(), { clock: new VirtualClock() });
    const inner = memoryArchive();
    let isAway = false;
    const forget: Archive['forget'] = (ids) =>
      isAway ? Promise.reject(new Error('away')) : inner.forget(ids);
    const archive = { ...inner, forget };
    await fill(store);
    const archivist = new Archivist({ store: hasty(store), archive, log: silentLog });
    await archivist.sweep();
    isAway = true;
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 1, limit: 9 });
    await archivist.sweep();
    assert.ok((await archive.history('a', 0, 9)).length > 0);
    isAway = false;
    await archivist.sweep();
    const left = (await archive.events(0, 999, 999)).events.map(({ jobId }) => jobId);
    assert.deepEqual([...new Set(left)], ['e']);
  });

  it('A-73 trouble of the store is not told as trouble of the archive', async () => {
    const store = openMemoryStore(new MemoryData(), { clock: new VirtualClock() });
    const { log, lines } = listeningLog();
    await store.close();
    for (const archive of [memoryArchive(), 'off'] as const) {
      const swept = new Archivist({ store, archive, log }).sweep();
      await assert.rejects(swept, { code: 'STORE_UNAVAILABLE' });
    }
    assert.deepEqual(lines, []);
  });

  it('A-73 a book that was moved is never answered as an empty one', async () => {
    const store = openMemoryStore(new MemoryData(), { clock: new VirtualClock() });
    const archive = memoryArchive();
    await fill(store);
    await new Archivist({ store: hasty(store), archive, log: silentLog }).sweep();
    const refusal = (message: RegExp) => ({ code: 'STORE_UNAVAILABLE', message });
    await assert.rejects(
      new Books(store, memoryArchive()).history('a', 0, 9),
      refusal(/does not hold it/),
    );
    await assert.rejects(new Books(store, null).history('a', 0, 9), refusal(/names none/));
    const away = { ...archive, history: () => Promise.reject(new Error('away')) };
    await assert.rejects(new Books(store, away).history('a', 0, 9), /away/);
    // What lies in the store can be read without it.
    assert.equal((await new Books(store, away).history('b', 0, 9)).length, 1);
    assert.deepEqual(await new Books(store, null).history('nobody', 0, 9), []);
  });
});

test('A-73 two servers that move the same books at once move each once, with their turn and without', async () => {
  const schema = places.schemas.newName();
  const place = places.new('postgres');
  const archives = [places.open(place), places.open(place)];
  const stores = await Promise.all([places.schemas.open(schema), places.schemas.open(schema)]);
  const [store] = stores;
  const jobs = Array.from({ length: 40 }, (_, index) =>
    changeOf(newJob(`job-${index}`, { status: 'finished' })),
  );
  await commit(store, ...jobs);
  await store1(store, dispatching('open'));
  const { events: truth } = await store.events(0, 999);
  const together = stores.map((each, index) => {
    const archive = archives[index];
    assert.ok(archive !== undefined);
    const inVain = { alone: (work: () => Promise<void>) => work().then(() => true) };
    const eager = new Proxy(archive, {
      get: (target, name) => {
        if (name === 'alone') return inVain.alone;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return [
      new Archivist({ store: hasty(each), archive, log: silentLog }),
      new Archivist({ store: hasty(each), archive: eager, log: silentLog }),
    ];
  });
  await Promise.all(together.flat().map((archivist) => archivist.sweep()));
  for (const [index, each] of stores.entries()) {
    const books = new Books(each, archives[index] ?? null);
    assert.deepEqual(await allEvents(books, 7), truth);
    assert.equal((await each.events(0, 99)).events.length, 1);
  }
  for (const archive of archives) await archive.close();
  for (const each of stores) await each.close();
  await places.schemas.drop(schema);
  await places.remove(place);
});

/** A page is moved, in two steps, before each question from the n-th on. */
function disturbed(store: Store, archive: Archive, begin: number): Pick<Books, 'events'> {
  let asked = 0;
  let page: Awaited<ReturnType<Store['booksToMove']>> | null = null;
  const step = async (): Promise<void> => {
    asked += 1;
    if (asked <= begin) return;
    if (page === null) {
      page = await store.booksToMove(0, 2);
      await archive.write(page.rows);
      return;
    }
    await store.booksMoved({ ...page, isArchived: true });
    page = null;
  };
  const before =
    <A extends readonly unknown[], R>(ask: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await step();
      return ask(...args);
    };
  const moving = withVerbs(store, {
    latestPosition: before(() => store.latestPosition()),
    events: before((after: number, limit: number) => store.events(after, limit)),
    archived: before((id?: string) => store.archived(id)),
  });
  return new Books(moving, { ...archive, events: before(archive.events) });
}

/** In this process, for what is only about the order of questions. */
function memoryArchive(): Archive {
  const rows = new Map<number, Parameters<Archive['write']>[0][number]>();
  return {
    name: 'memory',
    write: async (written) => {
      for (const row of written) rows.set(row.position, row);
    },
    history: async (jobId, after, limit) => {
      const own = [...rows.values()].filter((row) => row.jobId === jobId);
      return bookOf(
        own.sort((a, b) => a.seq - b.seq),
        after,
        limit,
      );
    },
    events: async (after, upTo, limit) => {
      const found = [...rows.values()]
        .filter(({ position }) => position > after && position <= upTo)
        .sort((a, b) => a.position - b.position)
        .map(({ jobId: id, correlationId: correlation, ...row }) => ({ ...row, id, correlation }));
      return eventPageOf(found.slice(0, limit), after, limit);
    },
    forget: async (jobIds) => {
      for (const [position, { jobId }] of rows) if (jobIds.includes(jobId)) rows.delete(position);
    },
    alone: async (work) => {
      await work();
      return true;
    },
    close: async () => undefined,
  };
}
