/** Attacks on waits that once succeeded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch, finish, sleep, transition } from '../core/action.ts';
import { type Blueprint, blueprint, type StateDefinition } from '../core/blueprint.ts';
import { holding } from '../core/share-actions.ts';
import { approval, child, parallel, stay, waitFor } from '../core/wait-actions.ts';
import type { Letter } from '../store/contract.ts';
import { oneTask, startWorld, storeWith, type World } from './fixtures.ts';
import type { SentSignal } from './ports.ts';

type States = Readonly<Record<string, StateDefinition<string, never>>>;

function machine(states: States, extras: object = {}, name = 'job'): Blueprint {
  return blueprint<string, never>({ name, version: 1, states, ...extras });
}

const done = { end: true } as const;

function signal(jobId: string, name: string, fields: Partial<SentSignal> = {}): SentSignal {
  return {
    client: 'client-1',
    to: { jobId },
    name,
    id: name,
    data: null,
    actor: 'bot',
    ...fields,
  };
}

async function begin(states: States, extras: object = {}) {
  const world = await startWorld({ blueprints: [machine(states, extras), oneTask()] });
  return { world, id: await world.create('job') };
}

const twoWaits: States = {
  one: {
    start: true,
    to: ['two'],
    on: { note: stay() },
    handle: () =>
      waitFor({
        on: { timeout: 'two', silence: 'two', go: 'two' },
        silence: { after: '10s' },
        deadline: '10s',
      }),
  },
  two: {
    to: ['late'],
    handle: () =>
      waitFor({
        on: { timeout: 'late', silence: 'late' },
        silence: { after: '1h' },
        deadline: '2h',
      }),
  },
  late: done,
};

test('S-60 two deadlines of one instant end one wait, not the next as well', async () => {
  const { world, id } = await begin(twoWaits);
  await world.advance(11_000);
  assert.equal((await world.job(id)).state, 'two');
  await world.advance(3_500_000);
  assert.equal((await world.job(id)).state, 'two');
});

test('S-60 a deadline that was read before a signal moved the job changes nothing', async () => {
  const { world, id } = await begin(twoWaits);
  await world.advance(9_999);
  const release = world.stopAnswerOf('due');
  await world.advance(1);
  await world.engine.signals.send([signal(id, 'go')]);
  release();
  await world.advance(1_000);
  assert.equal((await world.job(id)).state, 'two');
});

test('S-30 branches with different rules: no sibling outlives the fan-out, and the next one joins', async () => {
  const to = 'merge';
  const task = (skill: string, then = 'quarantine') =>
    dispatch(skill, {}, { on: { success: to }, retry: { max: 0, then } });
  const { world, id } = await begin({
    split: {
      start: true,
      to: ['merge', 'other'],
      handle: () => parallel([task('work'), task('work', 'other'), task('work')], { to }),
    },
    other: { to: ['merge'], handle: () => parallel([task('work'), task('work')], { to }) },
    merge: { aggregate: true, to: ['done'], handle: () => transition('done') },
    done,
  });
  const worker = await world.worker('w', { slots: 9, batch: true });
  const [first, second, third] = await worker.take(9);
  assert(first !== undefined && second !== undefined && third !== undefined);
  await worker.fail(first);
  await worker.fail(second);
  assert.equal((await worker.report(third)).type, 'ignored');
  for (const branch of await worker.take(9)) await worker.report(branch);
  await world.settle();
  const job = await world.job(id);
  assert.deepEqual([job.status, job.resume], ['finished', null]);
});

test('S-33 a child that takes a share goes to the end of the line, whenever its parent came', async () => {
  const reserve = (amount: number) => ({ reserve: [{ key: 'k', amount, limit: 10 }] });
  const world = await startWorld({
    blueprints: [
      machine({
        wait: {
          start: true,
          to: ['start'],
          handle: () => waitFor({ on: { go: 'start' }, deadline: '1d' }),
        },
        start: { to: ['done'], handle: () => child('kid', null, { on: { success: 'done' } }) },
        done,
      }),
      machine(
        {
          single: {
            start: true,
            to: ['done'],
            handle: () => holding(sleep('1h', 'done'), reserve(1)),
          },
          done,
        },
        {},
        'kid',
      ),
      machine(
        {
          take: {
            start: true,
            to: ['done'],
            handle: () => holding(sleep('5h', 'done'), reserve(7)),
          },
          done,
        },
        {},
        'taker',
      ),
    ],
  });
  const parent = await world.create('job');
  await world.create('taker');
  await world.create('taker');
  const [answer] = await world.engine.signals.send([signal(parent, 'go')]);
  assert.equal(answer?.type, 'taken');
  assert.equal((await world.job(parent)).status, 'waiting_for_child');
});

test('S-64 what was used stays booked, also by an action that ends the job, and once a key', async () => {
  const reserve = [{ key: 'b', amount: 100, limit: 150, expiresAfter: '30d' as const }];
  const { world } = await begin({
    one: { start: true, to: ['two'], handle: () => holding(sleep('1s', 'two'), { reserve }) },
    two: { to: ['three'], handle: () => holding(sleep('1s', 'three'), { reserve }) },
    three: { end: true, handle: () => holding(finish(), { settle: [{ key: 'b', amount: 60 }] }) },
  });
  await world.advance(5_000);
  const held = async (): Promise<string> => (await world.job(await world.create('job'))).status;
  // 60 of 150 are used: another 100 don't fit, and are waited for.
  assert.equal(await held(), 'waiting_for_timer');
  assert.equal(((await world.job(await world.create('job'))).wait as { key?: string }).key, 'b');
});

test('S-59 a kept letter and the same signal sent directly count once', async () => {
  const { world, id } = await begin({
    nap: { start: true, to: ['listen'], handle: () => sleep('5s', 'listen') },
    listen: {
      to: ['done'],
      on: { tick: stay((data) => (data.n = Number(data.n ?? 0) + 1)) },
      handle: () => holding(waitFor({ on: { timeout: 'done' }, deadline: '1h' }), { keys: ['K'] }),
    },
    done,
  });
  const letter = signal('', 'tick', { to: { key: 'K' }, id: 'x1', keepForMs: 60_000 });
  await world.engine.signals.send([letter]);
  await world.advance(5_001);
  await world.engine.signals.send([letter]);
  await world.settle();
  assert.equal((await world.job(id)).data.n, 1);
});

test('S-59 a batch that is sent again is answered as taken, also after the job has moved on or ended', async () => {
  const { world, id } = await begin({
    listen: {
      start: true,
      to: ['done'],
      on: { tick: stay() },
      handle: () => waitFor({ on: { stop: 'done', timeout: 'done' }, deadline: '1h' }),
    },
    done,
  });
  const ticks = Array.from({ length: 40 }, (_, n) => signal(id, 'tick', { id: `t${n}` }));
  const batch = [...ticks, signal(id, 'stop')];
  for (let round = 0; round < 3; round += 1) {
    const answers = await world.engine.signals.send(batch);
    assert.deepEqual(
      new Set(answers.map(({ type }) => type)),
      new Set(['taken']),
      `round ${round}`,
    );
  }
  assert.equal((await world.entries(id, 'signal_taken')).length, 41);
});

test('S-64 a row that needs a place under a full key refuses its signal, and the wait goes on', async () => {
  const { world, id } = await begin({
    listen: {
      start: true,
      to: ['done'],
      on: {
        go: () =>
          holding(dispatch('work', {}, { on: { success: 'done' } }), {
            reserve: [{ key: 'k', limit: 1 }],
          }),
      },
      handle: () => waitFor({ on: { timeout: 'done' }, deadline: '1h' }),
    },
    done,
  });
  const other = await world.create('job');
  assert.equal((await world.engine.signals.send([signal(other, 'go')]))[0]?.type, 'taken');
  const [refused] = await world.engine.signals.send([signal(id, 'go', { id: 'g2' })]);
  assert.equal(refused?.type === 'refused' && refused.error.details?.reason, 'row_full');
  assert.equal((await world.job(id)).status, 'waiting_for_event');
});

test('S-59 a letter that comes at another wait is taken at the next, without early', async () => {
  const { world, id: other } = await begin({
    work: {
      start: true,
      to: ['listen'],
      handle: () => holding(dispatch('work', {}, { on: { success: 'listen' } }), { keys: ['K'] }),
    },
    listen: {
      to: ['done', 'late'],
      handle: () => waitFor({ on: { go: 'done', timeout: 'late' }, deadline: '1h' }),
    },
    late: done,
    done,
  });
  const letter = signal('', 'go', { to: { key: 'K' }, keepForMs: 3_600_000 });
  await world.engine.jobs.cancel(other, 'ana', 'no');
  await world.engine.signals.send([letter]);
  const id = await world.create('job');
  await world.settle();
  const worker = await world.worker('w');
  await worker.report(await worker.takeOne());
  await world.advance(1_000);
  assert.equal((await world.job(id)).state, 'done');
});

test('S-12 a sub-state without a handler runs its parent’s again, after a retry and after a redrive', async () => {
  let throws = true;
  const { world, id } = await begin({
    listen: {
      start: true,
      to: ['asking', 'done'],
      retry: { base: '1s', jitter: 0 },
      on: {
        poke: () => {
          if (!throws) return transition('done');
          throws = false;
          return { type: 'retry', reason: 'not yet', class: undefined, after: '1s' };
        },
      },
      handle: () =>
        waitFor({
          on: { timeout: 'done' },
          poll: { every: '10s', enter: 'asking' },
          deadline: '1h',
        }),
    },
    asking: { parent: 'listen' },
    done,
  });
  await world.advance(11_000);
  assert.equal((await world.job(id)).state, 'asking');
  await world.engine.signals.send([signal(id, 'poke')]);
  await world.advance(2_000);
  const job = await world.job(id);
  assert.deepEqual([job.state, job.status], ['listen', 'waiting_for_event']);
});

test('A-16 options of a child that no store can keep are the handler’s error', async () => {
  for (const options of [{ attributes: { a: 10n } }, { priority: 'high' }, { metadata: 'x' }]) {
    const { world, id } = await begin({
      start: {
        start: true,
        to: ['done'],
        handle: () => child('one-task', null, { on: { success: 'done' }, ...(options as object) }),
      },
      done,
    });
    assert.equal((await world.entries(id, 'handler_failed')).length, 1);
  }
});

test('S-33 a redriven task takes its place under the key again, or waits for it', async () => {
  const concurrencyKey = { key: 'k', limit: 1 };
  const world = await startWorld({ blueprints: [oneTask({ concurrencyKey })] });
  const worker = await world.worker('w', { slots: 9, batch: true });
  const first = await world.create('one-task');
  await worker.fail(await worker.takeOne(), 'PERMANENT_ERROR');
  const second = await world.create('one-task');
  await world.engine.jobs.redrive(first, 'ana');
  const statuses = await Promise.all(
    [first, second].map(async (id) => (await world.job(id)).status),
  );
  assert.deepEqual(statuses, ['waiting_for_timer', 'waiting_for_worker']);
  await worker.report(await worker.takeOne());
  await world.settle();
  await worker.report(await worker.takeOne());
  assert.equal((await world.job(first)).status, 'finished');
});

test('S-33 a job is not in its own way: taking a key again replaces its share', async () => {
  const { world, id } = await begin({
    loop: {
      start: true,
      to: ['loop', 'done'],
      handle: (job) => {
        job.data.n = Number(job.data.n ?? 0) + 1;
        const to = Number(job.data.n) > 3 ? 'done' : 'loop';
        return holding(sleep('1s', to), { reserve: [{ key: 'k', limit: 1 }] });
      },
    },
    done,
  });
  await world.advance(10_000);
  assert.equal((await world.job(id)).state, 'done');
});

test('S-33 who began to wait first is served first, however old the others are', async () => {
  const { world } = await begin({
    loop: {
      start: true,
      to: ['loop'],
      handle: (job) => {
        job.data.n = Number(job.data.n ?? 0) + 1;
        return dispatch(
          'work',
          {},
          { on: { success: 'loop' }, concurrencyKey: { key: 'k', limit: 1 } },
        );
      },
    },
  });
  const worker = await world.worker('w', { slots: 9, batch: true });
  const second = await world.create('job');
  for (let round = 0; round < 6; round += 1) {
    await worker.report(await worker.takeOne());
    await world.settle();
  }
  assert.ok(Number((await world.job(second)).data.n) >= 3);
});

test('S-64 a share that expires soon is waited for no longer than that', async () => {
  const reserve = [{ key: 'rate', limit: 5, expiresAfter: '1s' as const }];
  const { world } = await begin({
    go: { start: true, end: true, handle: () => holding(finish('done'), { reserve }) },
  });
  void world;
  const limited = await startWorld({
    blueprints: [
      machine({
        go: { start: true, to: ['rest'], handle: () => holding(sleep('1h', 'rest'), { reserve }) },
        rest: done,
      }),
    ],
  });
  for (let n = 0; n < 15; n += 1) await limited.create('job');
  await limited.advance(6_000);
  const jobs = await limited.engine.jobs.list({ limit: 100 });
  const waiting = jobs.filter(({ wait }) => wait?.type === 'timer' && wait.key !== undefined);
  assert.equal(waiting.length, 0);
});

test('A-15 a blind decision said twice does not answer the next question', async () => {
  const ask = (message: string, to: string) => () => approval({ message, on: { approved: to } });
  const { world, id } = await begin({
    test: { start: true, to: ['live'], handle: ask('to test?', 'live') },
    live: { to: ['done'], handle: ask('to production?', 'done') },
    done,
  });
  const blind = {
    decision: 'approved',
    wait: null,
    hash: null,
    revision: null,
    actor: 'ana',
    comment: null,
    data: null,
  };
  await world.engine.signals.decide(id, blind);
  await assert.rejects(world.engine.signals.decide(id, blind), /something else/);
  assert.equal((await world.job(id)).state, 'live');
});

async function waitingFor(world: World, amount: number): Promise<string> {
  const id = await world.create(`take-${amount}`);
  return id;
}

test('S-33 who leaves the line, and a start of the server, hold up nobody', async () => {
  const taking = (amount: number) =>
    machine(
      {
        take: {
          start: true,
          to: ['done'],
          handle: () =>
            holding(sleep('9h', 'done'), { reserve: [{ key: 'k', amount, limit: 10 }] }),
        },
        done,
      },
      {},
      `take-${amount}`,
    );
  const world = await startWorld({ blueprints: [taking(7), taking(5), taking(1)] });
  await waitingFor(world, 7);
  const five = await waitingFor(world, 5);
  const one = await waitingFor(world, 1);
  await world.restart();
  await world.engine.jobs.cancel(five, 'ana', 'no');
  await world.advance(1_000);
  const { wait } = await world.job(one);
  assert.equal(wait?.type === 'timer' && wait.key, undefined);
});

test('S-7 a held job that is quarantined can be released', async () => {
  const { world } = await begin({ done: { ...done, start: true } });
  const id = await world.create('one-task');
  const worker = await world.worker('w');
  const task = await worker.takeOne();
  await world.engine.jobs.hold(id, 'ana');
  await worker.fail(task, 'PERMANENT_ERROR');
  await world.engine.jobs.release(id, 'ana');
  await world.engine.jobs.redrive(id, 'ana');
  await worker.report(await worker.takeOne());
  assert.equal((await world.job(id)).status, 'finished');
});

test('S-33 a key without a sensible limit is refused at the start', async () => {
  const { world } = await begin({ done: { ...done, start: true } });
  for (const limit of [0, Number.NaN, 1.5]) {
    await assert.rejects(
      world.create('one-task', { concurrency: { key: 'k', limit, onBusy: 'queue' } }),
      /limit/,
    );
  }
});

function letter(name: string): Letter {
  const item = { id: `signal:${name}`, kind: 'signal', name, body: null } as const;
  return { client: 'client-1', key: 'k', item, keepForMs: 3_600_000 };
}

test('S-59 what comes into the inbox while a look is under way is looked at next, not forgotten', async () => {
  let looks = 0;
  const states: States = {
    waits: {
      start: true,
      to: ['done', 'late'],
      handle: () =>
        holding(waitFor({ on: { b: 'done', timeout: 'late' }, deadline: '10d' }), { keys: ['k'] }),
    },
    done,
    late: done,
  };
  const world = await startWorld({
    blueprints: [machine(states, { early: ['a', 'b'] })],
    // The second letter lands between what the look has read and its commit.
    wrapStore: (store) =>
      storeWith(store, {
        inbox: async (jobId: string) => {
          const items = await store.inbox(jobId);
          looks += 1;
          if (looks === 1) await store.commit({ letters: [letter('b')] });
          return items;
        },
      }),
  });
  const id = await world.create('job');
  await world.truth.commit({ letters: [letter('a')] });
  await world.advance(31_000);
  assert.deepEqual(
    [(await world.job(id)).status, (await world.job(id)).state],
    ['finished', 'done'],
  );
  assert.equal(looks, 2);
});
