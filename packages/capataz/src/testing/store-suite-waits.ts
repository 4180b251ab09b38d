import assert from 'node:assert/strict';
import type { Change } from '../core/change.ts';
import type { Job, Task } from '../core/job.ts';
import type { Store } from '../store/contract.ts';
import {
  alsoOf,
  awaitingEvent,
  changeOf,
  claim,
  collecting,
  commit,
  deadlinesOf,
  doneJob,
  ending,
  endingChild,
  fanningOut,
  inboxIds,
  leasing,
  newJob,
  read,
  requeueing,
  type StoreTest,
  second,
  sleeping,
  startingChild,
  store1,
  types,
} from './store-suite-kit.ts';

/** A job whose branches are all handed out. */
async function fannedOut(store: Store, id: string, count: number) {
  const job = await store1(store, fanningOut(newJob(id), count));
  const { tasks } = await claim(store, { max: count });
  return { job, tasks };
}

function firstOf(tasks: readonly Task[]): Task {
  const [first] = tasks;
  assert.ok(first !== undefined, 'there is no task');
  return first;
}

export function fanOutTests(test: StoreTest): void {
  test('S-30 a branch result writes its own row and raises no version', async ({
    store,
    clock,
  }) => {
    const { job, tasks } = await fannedOut(store, 'a', 3);
    await clock.advance(second);
    const branch = firstOf(tasks);
    const after = await store1(store, collecting(job, branch, { data: { n: 1 } }));
    assert.deepEqual([after, await read(store, 'a')], [job, job]);
    const body = { index: 0, skill: 'count', status: 'success', data: { n: 1 }, error: null };
    assert.deepEqual(await store.inbox('a'), [
      { id: branch.id, kind: 'branch', name: 'success', body },
    ]);
    assert.deepEqual(
      (await store.tasks(['a'])).map(({ id }) => id),
      ['a-1', 'a-2'],
    );
    assert.deepEqual(await deadlinesOf(store, 'a'), {});
    assert.equal((await store.history('a', 0, 99)).at(-1)?.type, 'task_finished');
  });

  test('S-30 only the last branch rings', async ({ store, clock }) => {
    const { job, tasks } = await fannedOut(store, 'a', 3);
    const rung: object[] = [];
    for (const task of tasks.toReversed()) {
      await clock.advance(second);
      await store1(store, collecting(job, task));
      rung.push(await deadlinesOf(store, 'a'));
    }
    assert.deepEqual(rung, [{}, {}, { inbox: clock.now() }]);
    assert.deepEqual(await inboxIds(store, 'a'), ['a-2', 'a-1', 'a-0']);
  });

  test('S-30 branches that end in one commit are all kept', async ({ store, clock }) => {
    const { job, tasks } = await fannedOut(store, 'a', 3);
    const changes = tasks.map((task) => collecting(job, task));
    assert.deepEqual(await types(store, ...changes), ['done', 'done', 'done']);
    assert.deepEqual(await inboxIds(store, 'a'), ['a-0', 'a-1', 'a-2']);
    assert.deepEqual(await deadlinesOf(store, 'a'), { inbox: clock.now() });
  });

  test('S-30 a branch result decided on an older version is stored, and answered with the job as it is', async ({
    store,
  }) => {
    const { job, tasks } = await fannedOut(store, 'a', 2);
    const newer = await store1(store, changeOf({ ...job, data: { n: 1 } }));
    assert.deepEqual(await store1(store, collecting(job, firstOf(tasks))), newer);
    const again = changeOf({ ...newer, data: { n: 2 } });
    const outcomes = await commit(store, again, collecting(newer, firstOf(tasks.slice(1))));
    assert.deepEqual(doneJob(outcomes[1]), await read(store, 'a'));
  });

  test('a branch result of another attempt is stale', async ({ store }) => {
    const { job, tasks } = await fannedOut(store, 'a', 2);
    const branch = firstOf(tasks);
    await store1(store, { ...requeueing(job, branch), scope: 'tasks' });
    assert.deepEqual(await types(store, collecting(job, branch)), ['stale']);
    const [requeued] = await store.tasks(['a']);
    assert.ok(requeued !== undefined);
    const twice = [collecting(job, requeued), collecting(job, requeued)];
    assert.deepEqual(await types(store, ...twice), ['done', 'stale']);
  });
}

export function joinTests(test: StoreTest): void {
  test('results are taken out and the alarm is switched off where they are looked at', async ({
    store,
  }) => {
    const { job, tasks } = await fannedOut(store, 'a', 1);
    await store1(store, collecting(job, firstOf(tasks)));
    const also = alsoOf({ takes: ['a-0'], disarm: ['inbox'] });
    const results = {
      'a-0': { index: 0, skill: 'count', status: 'success', data: 1, error: null },
    };
    const joined = { ...job, status: 'pending', wait: null, results } as const;
    const merged = await store1(store, changeOf(joined, { timers: [], also }));
    assert.deepEqual([await inboxIds(store, 'a'), await deadlinesOf(store, 'a')], [[], {}]);
    assert.deepEqual((await read(store, 'a')).results, merged.results);
  });

  test('cancel_all forgets what was collected, and nothing else', async ({ store }) => {
    const { job, tasks } = await fannedOut(store, 'a', 2);
    const item = { id: 's', kind: 'signal', name: 'go', body: null } as const;
    const posts = [{ jobId: 'a', item, expiresAfterMs: null }];
    await store1(store, changeOf(job, { scope: 'tasks', also: alsoOf({ posts }) }));
    await store1(store, collecting(job, firstOf(tasks)));
    const left = changeOf(
      { ...job, status: 'pending', wait: null },
      { tasks: [{ type: 'cancel_all' }], timers: [] },
    );
    const [outcome] = await commit(store, left);
    const cancelled = outcome?.type === 'done' ? outcome.cancelled : [];
    assert.deepEqual(
      cancelled.map(({ attempt }) => attempt),
      [tasks[1]?.attempt?.id],
    );
    assert.deepEqual(await inboxIds(store, 'a'), ['s']);
  });

  test('a parked job goes on collecting, and does not ring', async ({ store }) => {
    const { job, tasks } = await fannedOut(store, 'a', 2);
    const parked = await store1(store, changeOf({ ...job, status: 'quarantined', wait: null }));
    for (const task of tasks) await store1(store, collecting(parked, task));
    assert.deepEqual(await inboxIds(store, 'a'), ['a-0', 'a-1']);
    assert.deepEqual(await deadlinesOf(store, 'a'), {});
  });

  test('S-6 a fan-out lives as long as each of its branches has a cause', async ({ store }) => {
    const watched: Change = fanningOut(newJob('a'), 2);
    assert.deepEqual(await types(store, fanningOut(newJob('none'), 0), watched), [
      'no_cause',
      'done',
    ]);
    const job = await read(store, 'a');
    const { tasks } = await claim(store, { max: 2 });
    const end = ending(job, firstOf(tasks)).tasks;
    assert.deepEqual(await types(store, changeOf(job, { tasks: end })), ['done']);
    const last = ending(job, firstOf(tasks.slice(1))).tasks;
    const empty = changeOf(await read(store, 'a'), { tasks: last });
    assert.deepEqual(await types(store, empty), ['no_cause']);
  });
}

export function childTests(test: StoreTest): void {
  const child = (id: string): Job => newJob(id, { parent: { jobId: 'a', depth: 1 } });

  test('a child comes into being with its parent’s change, or not at all', async ({ store }) => {
    const job = await store1(store, changeOf(newJob('a')));
    const starts = startingChild(job, changeOf(child('b')));
    const stale = { ...starts, job: { ...starts.job, version: 9 } };
    assert.deepEqual(await types(store, stale), ['stale']);
    assert.equal(await store.job('b'), null);
    await store1(store, starts);
    const stored = await read(store, 'b');
    assert.deepEqual([stored.version, stored.parent], [1, { jobId: 'a', depth: 1 }]);
    assert.deepEqual(
      (await store.causes({ after: '', limit: 9 })).map(({ childIsOpen }) => childIsOpen),
      [true, false],
    );
  });

  test('the end of a child is left for the parent that waits for it, and rings', async ({
    store,
    clock,
  }) => {
    const parent = await store1(store, startingChild(newJob('a'), changeOf(child('b'))));
    await store1(store, endingChild(await read(store, 'b'), 'a'));
    const body = { result: 1, error: null };
    assert.deepEqual(await store.inbox('a'), [{ id: 'b', kind: 'child', name: 'finished', body }]);
    assert.deepEqual(await deadlinesOf(store, 'a'), { inbox: clock.now() });
    assert.equal((await read(store, 'a')).version, parent.version);
  });

  test('the end of a child that nobody waits for any more is thrown away', async ({ store }) => {
    const parent = await store1(store, startingChild(newJob('a'), changeOf(child('b'))));
    await store1(store, sleeping(parent, second));
    await store1(store, endingChild(await read(store, 'b'), 'a'));
    assert.deepEqual(await store.inbox('a'), []);
    const orphan = await store1(store, changeOf(child('c')));
    await store1(store, ending(await read(store, 'a')));
    await store1(store, endingChild(orphan, 'a'));
    assert.deepEqual(await store.inbox('a'), []);
  });

  test('a child that ends at once is found by its parent', async ({ store, clock }) => {
    await store1(store, startingChild(newJob('a'), endingChild(child('b'), 'a')));
    assert.deepEqual(await inboxIds(store, 'a'), ['b']);
    assert.deepEqual(await deadlinesOf(store, 'a'), { inbox: clock.now() });
  });

  test('what a parent leaves for its child rings there', async ({ store, clock }) => {
    await store1(store, changeOf(child('b')));
    const item = { id: 'cancel:a', kind: 'cancel', name: 'cancel', body: null } as const;
    const posts = [{ jobId: 'b', item, expiresAfterMs: null }];
    await store1(store, changeOf(newJob('a'), { also: alsoOf({ posts }) }));
    assert.deepEqual(await store.inbox('b'), [item]);
    assert.deepEqual(await deadlinesOf(store, 'b'), { inbox: clock.now() });
  });

  test('S-6 a job waits for a child that is there, or under a deadline', async ({ store }) => {
    const waiting = startingChild(newJob('a'), changeOf(child('b')));
    const nobody: Change = { ...waiting, also: null };
    assert.deepEqual(await types(store, nobody), ['no_cause']);
    const timers = [{ name: 'deadline', afterMs: second }] as const;
    assert.deepEqual(await types(store, { ...nobody, timers }), ['done']);
    await store1(store, changeOf(child('b')));
    const other = { ...nobody, job: { ...nobody.job, id: 'c' } };
    assert.deepEqual(await types(store, other), ['done']);
  });
}

export function waitDeadlineTests(test: StoreTest): void {
  test('deadlines are set anew and dropped beside those that are kept', async ({
    store,
    clock,
  }) => {
    const job = await store1(store, awaitingEvent(newJob('a')));
    const kept = await deadlinesOf(store, 'a');
    const rearm = [
      { name: 'silence', afterMs: 5 * second },
      { name: 'poll', afterMs: second },
    ] as const;
    const armed = await store1(store, changeOf(job, { also: alsoOf({ rearm }) }));
    const fresh = { silence: clock.now() + 5 * second, poll: clock.now() + second };
    assert.deepEqual(await deadlinesOf(store, 'a'), { ...kept, ...fresh });
    assert.equal((await store.due(9)).nextInMs, second);
    await store1(store, changeOf(armed, { also: alsoOf({ disarm: ['poll', 'deadline'] }) }));
    assert.deepEqual(await deadlinesOf(store, 'a'), { silence: fresh.silence });
    assert.equal((await store.due(9)).nextInMs, 5 * second);
  });

  test('S-6 an event wait needs a deadline or a silence, an approval needs none', async ({
    store,
  }) => {
    const event = awaitingEvent(newJob('a'));
    assert.deepEqual(await types(store, { ...event, timers: [] }), ['no_cause']);
    const silence = [{ name: 'silence', afterMs: second }] as const;
    assert.deepEqual(await types(store, { ...event, timers: silence }), ['done']);
    const approval = changeOf(
      newJob('b', {
        status: 'waiting_for_human',
        wait: {
          type: 'approval',
          id: 'w',
          message: 'Ship it?',
          show: { z: 1, a: [2] },
          hash: 'h',
          revision: null,
          escalated: false,
          on: { yes: 'merge' },
          signals: {},
        },
      }),
    );
    const job = await store1(store, approval);
    assert.deepEqual((await read(store, 'b')).wait, job.wait);
  });

  test('what a job remembers of its waits comes back after a restart', async ({
    store,
    reopen,
  }) => {
    const { job, tasks } = await fannedOut(store, 'a', 1);
    await store1(store, collecting(job, firstOf(tasks)));
    const fields = {
      answer: { name: 'go', data: { z: [1], a: null } },
      decided: [{ wait: 'w', decision: 'yes' }],
      parent: { jobId: 'p', depth: 2 },
      options: { ...job.options, concurrency: { key: 'k', limit: 1, onBusy: 'skip' as const } },
    };
    await store1(store, changeOf(newJob('b', fields)));
    const before = await Promise.all([store.job('a'), store.job('b'), store.inbox('a')]);
    const reopened = await reopen();
    const after = [reopened.job('a'), reopened.job('b'), reopened.inbox('a')] as const;
    assert.deepEqual(await Promise.all(after), before);
    assert.partialDeepStrictEqual(before[1], fields);
    assert.equal(before[2].length, 1);
  });
}

export function memoTests(test: StoreTest): void {
  const leased = (store: Store, id = 'a', token = 't') =>
    store1(store, leasing(newJob(id), token, second));
  const memo = { jobId: 'a', token: 't', name: 'fetched', value: { z: [1], a: null } };

  test('S-14 what a step gave is remembered for the run that comes after it', async ({
    store,
    reopen,
  }) => {
    const job = await leased(store);
    assert.deepEqual(await store.memos('a'), {});
    assert.equal(await store.saveMemo(memo), true);
    assert.equal(await store.saveMemo({ ...memo, name: 'other', value: 1 }), true);
    assert.equal(await store.saveMemo({ ...memo, name: 'other', value: 2 }), true);
    await store1(store, leasing(job, 't2', second));
    assert.deepEqual(await (await reopen()).memos('a'), { fetched: memo.value, other: 2 });
  });

  test('S-14 a step under a lease that is not current remembers nothing', async ({ store }) => {
    await leased(store);
    await leased(store, 'b', 't2');
    const refused = [
      { ...memo, token: 't2' },
      { ...memo, jobId: 'nobody' },
    ];
    for (const each of refused) assert.equal(await store.saveMemo(each), false);
    await store1(store, ending(await read(store, 'a')));
    assert.equal(await store.saveMemo(memo), false);
    assert.deepEqual([await store.memos('a'), await store.memos('b')], [{}, {}]);
  });

  test('S-14 memos are gone when the state is left, even into itself', async ({ store }) => {
    const job = await leased(store);
    await store.saveMemo(memo);
    const waiting = await store1(store, sleeping(job, second));
    assert.deepEqual(Object.keys(await store.memos('a')), ['fetched']);
    const entered = { ...waiting, status: 'pending', wait: null } as const;
    await store1(store, changeOf(entered, { entered: true, timers: [] }));
    assert.deepEqual(await store.memos('a'), {});
  });

  test('S-14 a job that ended leaves no memo to the next one of its id', async ({ store }) => {
    const job = await leased(store);
    await store.saveMemo(memo);
    await store1(store, ending(job));
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    await leased(store);
    assert.deepEqual(await store.memos('a'), {});
  });
}
