import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, retry, transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { Run, RunningJob } from '../core/handler.ts';
import { startWorld, type World } from './fixtures.ts';

const never = (): Promise<never> => new Promise(() => undefined);

/** One state that runs, and an end. */
function runs(
  run: Run<'done' | 'spare'>,
  options: { timeout?: string; retry?: { max?: number; jitter?: number; then?: string } } = {},
): Blueprint {
  return blueprint({
    name: 'runs',
    version: 1,
    states: {
      think: {
        start: true,
        to: ['done', 'spare'],
        timeout: '1m',
        retry: { jitter: 0 },
        ...options,
        run,
      },
      spare: { end: true, handle: () => finish('spare') },
      done: { end: true },
    },
  });
}

/** A handler that is let go by the test. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** In one commit. */
async function createMany(world: World, count: number): Promise<string[]> {
  const request = { blueprint: 'runs', client: 'client-1', input: {} };
  const created = await world.engine.jobs.create(Array.from({ length: count }, () => request));
  return created.map((answer) => ('id' in answer ? answer.id : ''));
}

async function sum(world: World, id: string): Promise<string> {
  const { status, error } = await world.job(id);
  return error === null ? status : `${status} ${error.code}`;
}

test('S-28: a run that hangs is taken over after its timeout, and its lease is kept until then', async () => {
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      runs(async () => {
        calls += 1;
        return calls === 1 ? never() : transition('done');
      }),
    ],
  });
  const id = await world.create('runs');
  await world.advance(59_000);
  assert.equal(calls, 1);
  const [causes] = await world.truth.causes({ id });
  assert.ok((causes?.leaseEndsAt ?? 0) > (await world.truth.now()));
  assert.equal((await world.entries(id, 'handler_lost')).length, 0);
  await world.advance(13_000);
  assert.equal(calls, 2);
  assert.equal(await sum(world, id), 'finished');
  const [lost] = await world.entries(id, 'handler_lost');
  assert.equal(lost?.number, 1);
});

test('S-28 A-22: a run that always hangs is quarantined after its retries', async () => {
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      runs(
        async () => {
          calls += 1;
          return never();
        },
        { timeout: '10s', retry: { max: 2 } },
      ),
    ],
  });
  const id = await world.create('runs');
  await world.advance(90_000);
  assert.equal(calls, 3);
  assert.equal(await sum(world, id), 'quarantined HANDLER_LOST');
});

test('S-28: the signal aborts at the timeout; a handler that obeys has merely failed', async () => {
  const world = await startWorld({
    blueprints: [
      runs(
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          }),
        { timeout: '10s', retry: { max: 0 } },
      ),
    ],
  });
  const id = await world.create('runs');
  await world.advance(10_000);
  assert.equal(await sum(world, id), 'quarantined HANDLER_FAILED');
  assert.match((await world.job(id)).error?.message ?? '', /timeout of 10000 ms/);
});

test('S-28: an answer that comes after the lease was lost is refused and recorded', async () => {
  const { passed, open } = gate();
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      runs(
        async (job) => {
          calls += 1;
          const call = calls;
          if (call === 1) await passed;
          job.data.call = call;
          return call === 1 ? transition('spare') : transition('done');
        },
        { timeout: '10s' },
      ),
    ],
  });
  const id = await world.create('runs');
  await world.advance(30_000);
  assert.equal(await sum(world, id), 'finished');
  open();
  await world.settle();
  const job = await world.job(id);
  assert.deepEqual([job.state, job.data], ['done', { call: 2 }]);
  const refused = await world.entries(id, 'signal_refused');
  assert.deepEqual(
    refused.map(({ reason, details }) => [reason, details]),
    [['lease_not_current', { signal: 'handled' }]],
  );
});

test('S-28: an answer under a former lease does not end the run that took over', async () => {
  const { passed, open } = gate();
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      runs(
        async ({ attempt }) => {
          calls += 1;
          if (calls === 1) await passed;
          else await new Promise<void>((resolve) => world.clock.after(8_000, resolve));
          return finish(attempt);
        },
        { timeout: '10s' },
      ),
    ],
  });
  const id = await world.create('runs');
  for (let waited = 0; calls < 2 && waited < 30_000; waited += 500) await world.advance(500);
  open();
  await world.advance(1_000);
  assert.equal(await sum(world, id), 'running');
  await world.advance(10_000);
  assert.equal((await world.job(id)).result, 2);
});

test('B-011: a kill in the middle of a run is taken over within the lease, and counted', async () => {
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      runs(async ({ attempt }) => {
        calls += 1;
        return calls === 1 ? never() : finish(attempt);
      }),
    ],
  });
  const id = await world.create('runs');
  await world.advance(5_000);
  world.kill();
  await world.advance(1_000);
  await world.boot();
  await world.advance(1_000);
  assert.equal(await sum(world, id), 'finished');
  assert.equal((await world.job(id)).result, 2, 'the run that was lost counts');
  const [lost] = await world.entries(id, 'handler_lost');
  assert.deepEqual(lost?.details, { instance: 'server-1' });
  assert.deepEqual(
    (await world.entries(id, 'handler_claimed')).map(({ details }) => details),
    [{ instance: 'server-1' }, { instance: 'server-2' }],
  );
});

test('B-011: 250 runs of a dead server are all taken over within a second', async () => {
  let isHanging = true;
  const world = await startWorld({
    blueprints: [runs(async () => (isHanging ? never() : transition('done')))],
  });
  await createMany(world, 250);
  await world.settle();
  world.kill();
  isHanging = false;
  await world.boot();
  await world.advance(1_000);
  const { jobs } = await world.truth.counts();
  assert.deepEqual({ ...jobs }, { finished: 250 });
});

test('A-22: a run that throws is tried again with back-off, then quarantined with its stack', async () => {
  const starts: number[] = [];
  const world = await startWorld({
    blueprints: [
      runs(async ({ attempt }) => {
        starts.push(world.clock.steady());
        throw new Error(`attempt ${attempt} failed`);
      }),
    ],
  });
  const id = await world.create('runs');
  await world.advance(60_000);
  assert.deepEqual(starts, [0, 1_000, 3_000, 7_000]);
  const job = await world.job(id);
  assert.deepEqual(
    [job.status, job.error],
    ['quarantined', { code: 'HANDLER_FAILED', message: 'attempt 4 failed' }],
  );
  const failed = await world.entries(id, 'handler_failed');
  assert.deepEqual(
    failed.map(({ number, delayMs }) => [number, delayMs]),
    [
      [1, 1_000],
      [2, 2_000],
      [3, 4_000],
      [4, undefined],
    ],
  );
  assert.match(JSON.stringify(failed[0]?.details), /executor\.test\.ts/);
});

test('A-22: a handle that throws is tried again in the same way', async () => {
  let calls = 0;
  const world = await startWorld({
    blueprints: [
      blueprint({
        name: 'throws',
        version: 1,
        states: {
          think: {
            start: true,
            to: ['done'],
            retry: { jitter: 0 },
            handle: () => {
              calls += 1;
              if (calls < 4) throw new Error('not yet');
              return transition('done');
            },
          },
          done: { end: true },
        },
      }),
    ],
  });
  const id = await world.create('throws');
  assert.equal(await sum(world, id), 'waiting_for_timer');
  await world.advance(7_100);
  assert.equal(calls, 4);
  assert.equal(await sum(world, id), 'finished');
});

test('A-69: data that a handler changes is stored with its action and seen by the next', async () => {
  const seen: unknown[] = [];
  const world = await startWorld({
    blueprints: [
      blueprint({
        name: 'data',
        version: 1,
        states: {
          first: {
            start: true,
            to: ['second'],
            run: async (job) => {
              job.data.list = ['run'];
              return transition('second');
            },
          },
          second: {
            to: ['third'],
            handle: (job) => {
              seen.push(structuredClone(job.data));
              job.data.list = [...(job.data.list as string[]), 'handle'];
              return transition('third');
            },
          },
          third: { end: true, run: async (job) => void seen.push(structuredClone(job.data)) },
        },
      }),
    ],
  });
  const id = await world.create('data');
  await world.settle();
  assert.deepEqual(seen, [{ list: ['run'] }, { list: ['run', 'handle'] }]);
  const job = await world.job(id);
  assert.deepEqual([job.status, job.result], ['finished', { list: ['run', 'handle'] }]);
});

test('A-69: what a handler wrote before it threw is dropped', async () => {
  const seen: unknown[] = [];
  const world = await startWorld({
    blueprints: [
      runs(async (job) => {
        seen.push(structuredClone(job.data));
        job.data.draft = true;
        if (seen.length === 1) throw new Error('half done');
        return transition('done');
      }),
    ],
  });
  const id = await world.create('runs');
  await world.advance(1_000);
  assert.deepEqual(seen, [{}, {}]);
  assert.deepEqual((await world.job(id)).data, { draft: true });
});

test('A-69: a run that returns retry stores its data and is run again by its rule', async () => {
  const starts: [number, unknown][] = [];
  const world = await startWorld({
    blueprints: [
      runs(async (job) => {
        starts.push([world.clock.steady(), structuredClone(job.data)]);
        job.data.count = starts.length;
        if (starts.length < 3) return retry({ reason: 'busy', after: '7s' });
        return transition('done');
      }),
    ],
  });
  const id = await world.create('runs');
  await world.advance(20_000);
  assert.deepEqual(starts, [
    [0, {}],
    [7_000, { count: 1 }],
    [14_000, { count: 2 }],
  ]);
  assert.deepEqual((await world.job(id)).data, { count: 3 });
  const reasons = (await world.entries(id, 'handler_failed')).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['busy', 'busy']);
});

test('S-2: the draft of a run is its own: what it changes later is not stored', async () => {
  let kept: RunningJob | null = null;
  const world = await startWorld({
    blueprints: [
      runs(async (job) => {
        kept = job;
        job.data.kept = 1;
        return transition('done');
      }),
    ],
  });
  const id = await world.create('runs');
  await world.settle();
  // The callback above has run by now, which the compiler can't know.
  const job = kept as RunningJob | null;
  assert.ok(job !== null);
  job.data.kept = 2;
  assert.deepEqual((await world.job(id)).data, { kept: 1 });
});

test('B-004: a cancel aborts the run, and what it returns afterwards changes nothing', async () => {
  let aborted: unknown = null;
  const { passed, open } = gate();
  const world = await startWorld({
    blueprints: [
      runs(async ({ signal }) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason;
        });
        await passed;
        return transition('done');
      }),
    ],
  });
  const id = await world.create('runs');
  await world.settle();
  await world.engine.jobs.cancel(id, 'tester', 'enough');
  assert.match(String(aborted), /cancelled/);
  open();
  await world.settle();
  const job = await world.job(id);
  assert.deepEqual([job.status, job.state], ['cancelled', 'think']);
  const [refused] = await world.entries(id, 'signal_refused');
  assert.equal(refused?.reason, 'lease_not_current');
});

test('a stop waits for handlers, and aborts what does not end in time', async () => {
  const { passed, open } = gate();
  let aborts = 0;
  const world = await startWorld({
    blueprints: [
      runs(async ({ input, signal }) => {
        signal.addEventListener('abort', () => {
          aborts += 1;
        });
        await (input === 'quick' ? passed : never());
        return transition('done');
      }),
    ],
  });
  const quick = await world.create('runs', { input: 'quick' });
  const slow = await world.create('runs', { input: 'slow' });
  await world.settle();
  const stopped = world.engine.stop({ drainMs: 5_000 });
  await world.advance(1_000);
  open();
  await world.advance(4_000);
  await stopped;
  assert.equal(aborts, 1);
  assert.equal(await sum(world, quick), 'finished');
  assert.equal(await sum(world, slow), 'running');
});

test('no more handlers run at once than the setting allows, and all have their turn', async () => {
  let running = 0;
  let most = 0;
  const world = await startWorld({
    settings: { maxHandlers: 3 },
    blueprints: [
      runs(async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => world.clock.after(2_000, resolve));
        running -= 1;
        return transition('done');
      }),
    ],
  });
  await createMany(world, 20);
  await world.advance(20_000);
  assert.equal(most, 3);
  const { jobs } = await world.truth.counts();
  assert.deepEqual({ ...jobs }, { finished: 20 });
});

test('a handler that waits for its turn keeps its lease', async () => {
  const world = await startWorld({
    settings: { maxHandlers: 1 },
    blueprints: [
      runs(async () => {
        await new Promise<void>((resolve) => world.clock.after(30_000, resolve));
        return transition('done');
      }),
    ],
  });
  const ids = await createMany(world, 3);
  await world.advance(91_000);
  for (const id of ids) {
    assert.equal(await sum(world, id), 'finished');
    assert.equal((await world.entries(id, 'handler_lost')).length, 0);
  }
});
