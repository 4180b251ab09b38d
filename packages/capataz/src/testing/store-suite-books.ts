import assert from 'node:assert/strict';
import type { Job } from '../core/job.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../std/json.ts';
import type { JobQuery, Store } from '../store/contract.ts';
import {
  changeOf,
  claim,
  claim1,
  classKey,
  commit,
  day,
  dispatching,
  ending,
  leasing,
  newJob,
  read,
  requeueing,
  type StoreTest,
  second,
  sleeping,
  store1,
  workerOf,
} from './store-suite-kit.ts';

export function historyTests(test: StoreTest): void {
  test('S-45 the sequence of a job counts entries and has no gap', async ({ store, clock }) => {
    await store1(store, dispatching('a'));
    await store1(store, dispatching('b'));
    await clock.advance(second);
    const { tasks } = await claim(store, { max: 1 });
    await store.commit({
      notes: [
        {
          jobId: 'a',
          entries: [
            { type: 'report_refused', reason: 'x' },
            { type: 'report_refused', reason: 'y' },
          ],
        },
      ],
    });
    assert.deepEqual(await commit(store, changeOf({ ...newJob('a'), version: 9 })), [
      { type: 'stale' },
    ]);
    await store1(store, ending(await read(store, 'a'), tasks[0] ?? null));
    await store.commit({
      notes: [
        { jobId: 'a', entries: [{ type: 'signal_refused' }] },
        { jobId: 'none', entries: [{ type: 'signal_refused' }] },
      ],
    });
    const book = await store.history('a', 0, 100);
    assert.deepEqual(
      book.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6, 7],
    );
    assert.deepEqual(
      book.map(({ type }) => type),
      [
        'state_entered',
        'task_assigned',
        'report_refused',
        'report_refused',
        'task_finished',
        'job_finished',
        'signal_refused',
      ],
    );
    assert.deepEqual(book[3], { type: 'report_refused', reason: 'y', seq: 4, at: clock.now() });
    for (const [after, limit] of [
      [0, 3],
      [2, 2],
      [3, 1],
      [4, 9],
      [7, 9],
    ] as const) {
      assert.deepEqual(await store.history('a', after, limit), book.slice(after, after + limit));
    }
    assert.deepEqual(await store.history('none', 0, 9), []);
  });

  test('S-45 an entry that cannot be stored leaves a marker, is counted, and stops nothing', async ({
    store,
  }) => {
    const cycle: JsonObject = {};
    cycle['self'] = cycle;
    const history = [
      { type: 'timer_set' },
      { type: 'handler_failed', details: cycle },
      { type: 'job_held' },
    ] as const;
    await store1(store, changeOf(newJob('a'), { history }));
    const book = await store.history('a', 0, 9);
    assert.deepEqual(
      book.map(({ type, seq }) => [type, seq]),
      [
        ['timer_set', 1],
        ['entry_lost', 2],
        ['job_held', 3],
      ],
    );
    assert.match(book[1]?.reason ?? '', /^handler_failed: /);
    assert.equal((await store.counts()).lostEntries, 1);
  });
}

export function eventTests(test: StoreTest): void {
  test('events of all jobs are read on by whole commits, each once', async ({ store }) => {
    assert.deepEqual(await store.events(0, 10), { events: [], position: 0 });
    await store1(store, dispatching('a', { client: 'ann' }));
    const two = [{ type: 'timer_set' }, { type: 'job_held' }] as const;
    await commit(
      store,
      changeOf(newJob('b'), { history: two }),
      changeOf(newJob('c'), { history: two }),
      changeOf(newJob('d'), { history: [] }),
    );
    await store1(store, ending(await read(store, 'b')));
    const all = await store.events(0, 100);
    const names = all.events.map(({ jobId, entry }) => `${jobId}${entry.seq} ${entry.type}`);
    assert.deepEqual(names, [
      'a1 state_entered',
      'b1 timer_set',
      'b2 job_held',
      'c1 timer_set',
      'c2 job_held',
      'b3 task_finished',
      'b4 job_finished',
    ]);
    assert.deepEqual([all.events[0]?.client, all.events[1]?.client], ['ann', 'dev']);
    assert.ok(all.events.every(({ jobId, correlationId }) => correlationId === `c-${jobId}`));
    assert.deepEqual(await store.events(all.position, 10), { events: [], position: all.position });
    for (const limit of [1, 2, 3]) {
      const read: (typeof all.events)[number][] = [];
      for (let position = 0; position < all.position; ) {
        const page = await store.events(position, limit);
        assert.ok(page.position > position && page.events.length <= limit + 1);
        read.push(...page.events);
        position = page.position;
      }
      assert.deepEqual(read, all.events);
    }
  });
}

export function readTests(test: StoreTest): void {
  test('S-44 jobs are listed by descending id, filtered and page by page, hot and ended alike', async ({
    store,
  }) => {
    await commit(
      store,
      dispatching('a'),
      dispatching('b', { client: 'ann' }),
      sleeping(newJob('c', { blueprint: 'other' }), second),
    );
    await commit(
      store,
      changeOf(newJob('d', { status: 'failed', client: 'ann' })),
      changeOf(newJob('e', { status: 'finished' })),
      changeOf(newJob('f', { status: 'quarantined', state: 'odd' })),
    );
    const ids = async (query: Partial<JobQuery>) =>
      (await store.jobs({ limit: 10, ...query })).map(({ id }) => id).join('');
    assert.equal(await ids({}), 'fedcba');
    assert.equal(await ids({ limit: 2 }), 'fe');
    assert.equal(await ids({ limit: 2, before: 'e' }), 'dc');
    assert.equal(await ids({ client: 'ann' }), 'db');
    assert.equal(await ids({ client: 'ann', before: 'd' }), 'b');
    assert.equal(await ids({ status: ['failed', 'quarantined'] }), 'fd');
    assert.equal(await ids({ status: ['waiting_for_worker'] }), 'ba');
    assert.equal(await ids({ status: ['finished'] }), 'e');
    assert.equal(await ids({ status: [] }), '');
    assert.equal(await ids({ blueprint: 'other' }), 'c');
    assert.equal(await ids({ state: 'odd', status: ['quarantined', 'failed'] }), 'f');
    assert.deepEqual(await store.jobs({ limit: 1 }), [await read(store, 'f')]);
  });

  test('S-44 counts come from what is stored', async ({ store, clock }) => {
    const began = clock.now();
    await commit(
      store,
      dispatching('a'),
      dispatching('b'),
      dispatching('c', {}, [{ name: 'ready', afterMs: second }]),
      changeOf(newJob('d', { status: 'failed' })),
    );
    await clock.advance(second);
    await claim1(store);
    assert.deepEqual(await store.counts(), {
      jobs: { waiting_for_worker: 3, failed: 1 },
      tasks: { ASSIGNED: 1, PENDING: 2 },
      queued: 1,
      outbox: 0,
      deadLetters: 0,
      lostEntries: 0,
      phases: {
        PENDING: { jobs: 2, oldestAt: began },
        ASSIGNED: { jobs: 1, oldestAt: began + second },
        FAILED: { jobs: 1, oldestAt: null },
      },
    });
    await store1(store, ending(await read(store, 'a')));
    await store1(store, ending(await read(store, 'b'), null, 'cancelled'));
    assert.deepEqual((await store.counts()).jobs, {
      waiting_for_worker: 1,
      failed: 1,
      finished: 1,
      cancelled: 1,
    });
  });

  test('H-47 S-44 phases of ended jobs tell deadlines from failures, until they are forgotten', async ({
    store,
    clock,
  }) => {
    const error = (code: string) => ({ code, message: 'no' });
    await commit(
      store,
      changeOf(newJob('a', { status: 'failed', error: error('DISPATCH_TIMEOUT') })),
      changeOf(newJob('b', { status: 'failed', error: error('WORKER_LOST') })),
      changeOf(newJob('c', { status: 'quarantined', error: error('RESULT_TIMEOUT') })),
    );
    const phases = async () => (await store.counts()).phases;
    const parked = { jobs: 2, oldestAt: clock.now() };
    assert.deepEqual(await phases(), { TIMEOUT: { jobs: 1, oldestAt: null }, FAILED: parked });
    await store.forgetEnded({ olderThanMs: null, keepAtMost: 0, limit: 9 });
    assert.deepEqual(await phases(), { FAILED: { ...parked, jobs: 1 } });
  });
}

export function causeTests(test: StoreTest): void {
  test('causes are walked in slices of hot jobs by ascending id', async ({ store, clock }) => {
    const at = clock.now() + second;
    await commit(
      store,
      sleeping(newJob('c'), second),
      dispatching('b', {}, [{ name: 'dispatch', afterMs: second }]),
      leasing(newJob('a'), 't', second),
    );
    await commit(store, changeOf(newJob('d', { status: 'finished' })), changeOf(newJob('e')));
    const all = await store.causes({ after: '', limit: 9 });
    assert.deepEqual(
      all.map(({ job }) => job.id),
      ['a', 'b', 'c', 'e'],
    );
    assert.deepEqual(
      all.map(({ runnable, leaseEndsAt }) => [runnable, leaseEndsAt]),
      [
        [false, at],
        [false, null],
        [false, null],
        [true, null],
      ],
    );
    assert.deepEqual(
      all.map(({ timers }) => timers),
      [[], [{ taskId: 'b-task', name: 'dispatch', at }], [{ taskId: null, name: 'wake', at }], []],
    );
    assert.deepEqual(all[1]?.queued, ['b-task']);
    const [task] = all[1]?.tasks ?? [];
    assert.partialDeepStrictEqual(await store.tasks(['b']), [{ id: task?.id, status: 'PENDING' }]);
    assert.deepEqual(await store.causes({ after: 'a', limit: 2 }), all.slice(1, 3));
    const [alone] = await store.causes({ id: 'c' });
    assert.ok(alone !== undefined);
    const { job } = alone;
    assert.deepEqual({ ...alone, job: { ...job, input: null, data: {} } }, all[2]);
    assert.deepEqual(
      [await store.causes({ id: 'd' }), await store.causes({ id: 'none' })],
      [[], []],
    );
  });

  test('a slice of causes leaves out payloads, and one job has them', async ({ store }) => {
    const payloads = { params: { file: 'a.txt' }, metadata: { by: 'me' } };
    const job = await store1(store, dispatching('a', payloads, [], { data: { lines: 3 } }));
    const [slice] = await store.causes({ after: '', limit: 9 });
    assert.deepEqual(slice?.job, { ...job, input: null, data: {} });
    const [task] = await store.tasks(['a']);
    assert.ok(task !== undefined);
    const bare = { ...task, spec: { ...task.spec, params: {}, metadata: null } };
    assert.deepEqual(slice?.tasks, [bare]);
    const [one] = await store.causes({ id: 'a' });
    assert.deepEqual(one, { ...slice, job, tasks: [task] });
  });

  test('the tasks of several jobs are read together, by arrival', async ({ store }) => {
    for (const id of ['b', 'a', 'c']) await store1(store, dispatching(id));
    assert.deepEqual(
      (await store.tasks(['a', 'b', 'none'])).map(({ jobId }) => jobId),
      ['b', 'a'],
    );
    assert.deepEqual(await store.tasks([]), []);
  });
}

const oddities: JsonObject = {
  constructor: 1,
  hasOwnProperty: { toString: 'x', toJSON: 'y', length: -1 },
  '': [[], {}, '', 0, false, null],
  cleaned: '\ufffd',
  text: 'é 漢 🎉 \u2028 \u0001 "\\ \' ; -- DROP TABLE jobs',
  numbers: [0.1, 1e21, 1e-7, 9_007_199_254_740_991, -1],
  '10': 'ten',
  '9': 'nine',
};

function deep(levels: number): JsonValue {
  let value: JsonValue = 'bottom';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

export function payloadTests(test: StoreTest): void {
  const payloads: readonly (readonly [string, JsonObject])[] = [
    ['odd keys and texts', oddities],
    ['64 levels', { deep: deep(63) }],
    ['5 MB', { text: 'x'.repeat(5_000_000), words: 'é"\n'.repeat(100_000) }],
  ];
  for (const [what, payload] of payloads) {
    test(`S-9 payloads keep every value and come back in canonical order: ${what}`, async ({
      store,
      reopen,
    }) => {
      const change = dispatching('a', { params: payload }, [], { input: payload, data: payload });
      await store1(store, change);
      const task = await claim1(store);
      assert.deepEqual(task.spec.params, payload);
      const error = { code: 'X', message: 'y', details: payload };
      await store1(store, {
        ...ending({ ...(await read(store, 'a')), error }, task, 'failed'),
        history: [{ type: 'job_failed', details: payload }],
      });
      const reopened = await reopen();
      const job = await read(reopened, 'a');
      for (const stored of [job.input, job.data, job.error?.details ?? null]) {
        assert.equal(JSON.stringify(stored), JSON.stringify(JSON.parse(canonicalJson(payload))));
      }
      const book = await reopened.history('a', 2, 1);
      assert.deepEqual(book[0]?.details, payload);
    });
  }

  test('what was handed in or out does not change what is stored', async ({ store }) => {
    const data = { list: [1] };
    await store1(store, changeOf(newJob('a', { data, input: data })));
    data.list.push(2);
    const first = await read(store, 'a');
    (first.data['list'] as JsonValue[]).push(3);
    (first.input as { list: number[] }).list.push(3);
    assert.deepEqual((await read(store, 'a')).data, { list: [1] });
    assert.deepEqual((await read(store, 'a')).input, { list: [1] });
  });
}

export function restartTests(test: StoreTest): void {
  test('all that was acknowledged is there after a restart', async ({ store, clock, reopen }) => {
    await fill(store);
    const before = await everything(store);
    const reopened = await reopen();
    assert.deepEqual(await everything(reopened), before);
    await clock.advance(day);
    assert.deepEqual(
      await commit(reopened, {
        change: dispatching('new'),
        idempotency: { key: 'k', bodyHash: 'h' },
      }),
      [{ type: 'duplicate', jobId: 'keyed' }],
    );
    const share = {
      reservations: [
        { key: 'slots', amount: 1, limit: 1, expiresAfterMs: null, until: 'job' as const },
      ],
    };
    assert.deepEqual((await commit(reopened, changeOf(newJob('late'), share)))[0]?.type, 'limit');
    const { tasks } = await claim(reopened, { max: 9 });
    assert.deepEqual(
      tasks.map(({ jobId }) => jobId),
      ['retried', 'keyed'],
    );
    const { position } = before.events;
    assert.ok(
      (await reopened.events(position, 9)).events.every((event) => event.position > position),
    );
  });

  test('a closed store refuses every verb', async ({ store }) => {
    await store.close();
    await store.close();
    const verbs = [
      () => store.job('a'),
      () => store.commit({}),
      () => store.due(1),
      () => store.saveWorker(workerOf('w'), 1),
      () => store.forgetEnded({ olderThanMs: 0, keepAtMost: 0, limit: 1 }),
    ];
    for (const verb of verbs) await assert.rejects(verb, { code: 'STORE_UNAVAILABLE' });
  });

  test('what was begun before the store was closed is finished', async ({ store, reopen }) => {
    const pending = Promise.all(['a', 'b', 'c'].map((id) => store1(store, changeOf(newJob(id)))));
    const closed = store.close();
    const jobs: Job[] = await pending;
    await closed;
    const reopened = await reopen();
    assert.deepEqual(await reopened.jobs({ limit: 9 }), jobs.toReversed());
  });
}

/** One of everything. */
async function fill(store: Store): Promise<void> {
  await store.saveWorker(workerOf('w1'), 9 * second);
  await store.offerBlueprint({ name: 'digest', version: 1, graph: 'g' });
  await store1(store, dispatching('retried', {}, [{ name: 'result', afterMs: day * 9 }]));
  const task = await claim1(store);
  await store1(
    store,
    requeueing(await read(store, 'retried'), task, [], { failures: 1, lostRuns: 1 }),
  );
  await store1(store, { change: dispatching('keyed'), idempotency: { key: 'k', bodyHash: 'h' } });
  await store1(
    store,
    changeOf(newJob('reserved'), {
      reservations: [
        { key: 'slots', amount: 1, limit: 1, expiresAfterMs: null, until: 'job' as const },
      ],
    }),
  );
  await commit(
    store,
    sleeping(newJob('asleep'), day),
    leasing(newJob('leased'), 't', day),
    changeOf(newJob('over', { status: 'finished' })),
  );
  await store1(store, dispatching('held', { skill: 'other' }));
  await claim1(store, { lanes: [[classKey({ skill: 'other' })]] });
}

async function everything(store: Store) {
  return {
    jobs: await store.jobs({ limit: 99 }),
    causes: await store.causes({ after: '', limit: 99 }),
    events: await store.events(0, 999),
    counts: await store.counts(),
    workers: await store.workers(),
    classes: await store.queuedClasses(),
    held: await store.heldBy('w1'),
    runnable: await store.runnable([{ name: 'digest', version: 1 }], 99),
    due: await store.due(99),
  };
}
