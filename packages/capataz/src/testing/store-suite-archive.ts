import assert from 'node:assert/strict';
import type { Store } from '../store/contract.ts';
import {
  changeOf,
  commit,
  dispatching,
  ending,
  newJob,
  read,
  type StoreTest,
  second,
  store1,
} from './store-suite-kit.ts';

/** Books that are moved out of the store. */

const minute = 60 * second;

export function bookTests(test: StoreTest): void {
  test('A-73 books of jobs that ended a while ago are given whole, those of others not at all', async ({
    store,
    clock,
  }) => {
    await store1(store, dispatching('open'));
    await commit(store, changeOf(newJob('early')), changeOf(newJob('late')));
    await store1(store, ending(await read(store, 'early')));
    await clock.advance(minute);
    await store1(store, ending(await read(store, 'late')));
    const page = await store.booksToMove(minute, 99);
    assert.deepEqual(named(page.rows), ['early 1', 'early 3']);
    assert.deepEqual(page.rows[1], {
      ...{ position: 4, jobId: 'early', client: 'dev', correlationId: 'c-early' },
      ...{ seq: 3, at: clock.now() - minute, count: 2 },
      entries: page.rows[1]?.entries,
    });
    const entries: { type: string }[] = JSON.parse(page.rows[1]?.entries ?? '');
    assert.deepEqual(
      entries.map(({ type }) => type),
      ['task_finished', 'job_finished'],
    );
    assert.deepEqual([page.position, page.more], [4, false]);
    await store.booksMoved({ ...page, isArchived: true });
    assert.deepEqual(await seqs(store, 'early'), []);
    assert.deepEqual(await store.archived('early'), { position: 4, seq: 3 });
    assert.deepEqual(await store.archived('late'), { position: 4, seq: 0 });
    assert.deepEqual(await seqs(store, 'late'), [1, 2, 3]);
    await clock.advance(minute);
    const next = await store.booksToMove(minute, 99);
    assert.deepEqual(named(next.rows), ['late 1', 'late 3']);
    await store.booksMoved({ ...next, isArchived: true });
    assert.deepEqual(
      (await store.events(0, 99)).events.map(({ jobId }) => jobId),
      ['open'],
    );
  });

  test('A-73 a long book is given piece by piece, and another instance may be given the same', async ({
    store,
    clock,
  }) => {
    await store1(store, changeOf(newJob('a')));
    for (let number = 0; number < 7; number += 1) {
      await store.commit({ notes: [{ jobId: 'a', entries: [{ type: 'timer_set' }] }] });
    }
    await store1(store, ending(await read(store, 'a')));
    await clock.advance(minute);
    const moved: string[] = [];
    for (let more = true; more; ) {
      const page = await store.booksToMove(minute, 3);
      assert.ok(page.rows.length <= 3);
      assert.deepEqual(await store.booksToMove(minute, 3), page);
      moved.push(...named(page.rows));
      await store.booksMoved({ ...page, isArchived: true });
      await store.booksMoved({ ...page, isArchived: true });
      ({ more } = page);
    }
    assert.deepEqual(moved, ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'a 6', 'a 7', 'a 8', 'a 10']);
    assert.deepEqual(await store.booksToMove(minute, 3), { rows: [], position: 9, more: false });
  });
}

/** What stays true of jobs whose books were moved. */
export function movedBookTests(test: StoreTest): void {
  test('A-73 S-45 what is noted of a job whose book was moved goes on behind it, and follows', async ({
    store,
    clock,
    reopen,
  }) => {
    await store1(store, over('a'));
    await clock.advance(minute);
    await moveAll(store, true);
    const reopened = await reopen();
    assert.ok((await reopened.now()) >= clock.now());
    await reopened.commit({ notes: [{ jobId: 'a', entries: [{ type: 'report_refused' }] }] });
    assert.deepEqual(await seqs(reopened, 'a'), [2]);
    assert.deepEqual((await reopened.booksToMove(minute, 9)).rows, []);
    await clock.advance(minute);
    assert.deepEqual(await moveAll(reopened, true), ['a 2']);
    assert.deepEqual(await reopened.archived('a'), { position: 2, seq: 2 });
    await commit(reopened, over('b'));
    assert.deepEqual(
      (await reopened.events(0, 9)).events.map(({ position }) => position),
      [3],
    );
  });

  test('A-73 books that are wanted nowhere are deleted, and nothing is said of an archive', async ({
    store,
    clock,
  }) => {
    await store1(store, over('a'));
    await clock.advance(minute);
    assert.deepEqual(await moveAll(store, false), ['a 1']);
    assert.deepEqual(
      [await seqs(store, 'a'), await store.archived('a')],
      [[], { position: 1, seq: 0 }],
    );
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    assert.deepEqual(await store.forgottenInArchive(9), []);
  });

  test('A-46 A-73 of a job that was forgotten the archive is told, also of one that was forgotten while its book was moved', async ({
    store,
    clock,
  }) => {
    await commit(store, over('a'), over('b'));
    await clock.advance(minute);
    await moveAll(store, true);
    await store1(store, over('c'));
    await clock.advance(minute);
    const page = await store.booksToMove(minute, 9);
    const forgotten = await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    assert.deepEqual(forgotten.jobIds, ['a', 'b', 'c']);
    await store.booksMoved({ ...page, isArchived: true });
    assert.deepEqual((await store.forgottenInArchive(9)).sort(), ['a', 'b', 'c']);
    // The id is another job's now, and its book stays until the archive has forgotten the old one.
    await store1(store, over('a'));
    assert.deepEqual(await seqs(store, 'a'), [1]);
    assert.equal((await store.archived('a')).seq, 0);
    await store.archiveForgot(['a', 'c']);
    assert.deepEqual(await store.forgottenInArchive(9), ['b']);
    await clock.advance(minute);
    assert.deepEqual(await moveAll(store, true), ['a 1']);
    await store.archiveForgot(['a']);
    assert.equal((await store.archived('a')).seq, 1);
  });
}

function over(id: string): ReturnType<typeof changeOf> {
  return changeOf(newJob(id, { status: 'finished' }));
}

function named(rows: readonly { readonly jobId: string; readonly seq: number }[]): string[] {
  return rows.map(({ jobId, seq }) => `${jobId} ${seq}`);
}

async function seqs(store: Store, jobId: string): Promise<number[]> {
  return (await store.history(jobId, 0, 99)).map(({ seq }) => seq);
}

async function moveAll(store: Store, isArchived: boolean): Promise<string[]> {
  const moved: string[] = [];
  for (let more = true; more; ) {
    const page = await store.booksToMove(minute, 9);
    moved.push(...named(page.rows));
    await store.booksMoved({ ...page, isArchived });
    ({ more } = page);
  }
  return moved;
}
