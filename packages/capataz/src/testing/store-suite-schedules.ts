import assert from 'node:assert/strict';
import type { ScheduleChange, SlotRecord, Store, StoredSchedule } from '../store/contract.ts';
import { type StoreTest, second } from './store-suite-kit.ts';

/** What is remembered of schedules. */

const started: SlotRecord = {
  first: 60_000,
  last: 60_000,
  outcome: 'started',
  jobId: 'a',
  reason: null,
  at: 60_001,
};

/** The change must be stored. */
async function keep(store: Store, name: string, change: ScheduleChange): Promise<StoredSchedule> {
  const outcome = await store.keepSchedule(name, change);
  assert.ok(outcome.type === 'done', `${name} is ${outcome.type}`);
  return outcome.schedule;
}

export function scheduleTests(test: StoreTest): void {
  test('A-44 what is remembered of a schedule is there after a restart, by name', async ({
    store,
    reopen,
  }) => {
    assert.deepEqual(await store.schedules(), []);
    const fresh = await keep(store, 'nightly', { expected: null, handled: 5 });
    const never = { pausedAt: null, resumedAt: null, changedBy: null };
    assert.deepEqual(fresh, { name: 'nightly', handled: 5, ...never, recent: [] });
    const change = { expected: 5, handled: 60_000, recent: [started] };
    const kept = await keep(store, 'nightly', change);
    assert.deepEqual(kept, { ...fresh, handled: 60_000, recent: [started] });
    const first = await keep(store, 'a', { expected: null, handled: 1 });
    const reopened = await reopen();
    assert.deepEqual(await reopened.schedules(), [first, kept]);
    assert.deepEqual(await reopened.schedules(['nightly', 'nobody']), [kept]);
    assert.deepEqual(await reopened.schedules([]), []);
  });

  test('A-44 B-022 of several that have read the same, one moves a schedule on', async ({
    store,
  }) => {
    const changes = [10, 20].map((handled) => ({ expected: null, handled }));
    const seen = await Promise.all(changes.map((change) => store.keepSchedule('s', change)));
    assert.deepEqual(seen.map(({ type }) => type).sort(), ['done', 'stale']);
    const [{ handled: expected } = { handled: 0 }] = await store.schedules();
    const tries = await Promise.all(
      [100, 200, 300].map((handled) => store.keepSchedule('s', { expected, handled })),
    );
    const done = tries.filter(({ type }) => type === 'done');
    assert.equal(done.length, 1);
    const [now] = await store.schedules();
    assert.deepEqual(done[0]?.schedule, now);
    const late = await store.keepSchedule('s', { expected, handled: 400, recent: [started] });
    assert.deepEqual(late, { type: 'stale', schedule: now });
    assert.deepEqual(await store.keepSchedule('none', { expected: 1, handled: 2 }), {
      type: 'stale',
      schedule: null,
    });
    assert.equal((await store.schedules()).length, 1);
  });

  test('A-44 a schedule goes back with a resume alone', async ({ store }) => {
    await keep(store, 's', { expected: null, handled: 100 });
    const { handled } = await keep(store, 's', { expected: 100, handled: 50 });
    assert.equal(handled, 100);
    const pause = { isPaused: true, by: 'ana' };
    assert.equal((await keep(store, 's', { expected: 100, handled: 50, pause })).handled, 100);
    const resume = { isPaused: false, by: 'ana' };
    assert.equal((await keep(store, 's', { expected: 100, pause: resume })).handled, 100);
    assert.equal(
      (await keep(store, 's', { expected: 100, handled: 50, pause: resume })).handled,
      50,
    );
  });

  test('B-050 a pause is remembered with who made it, and so is its end; neither counts twice', async ({
    store,
    clock,
    reopen,
  }) => {
    const seen = await keep(store, 's', { expected: null, handled: 7, recent: [started] });
    const pause = (isPaused: boolean, by: string) =>
      keep(store, 's', { expected: 7, pause: { isPaused, by } });
    assert.deepEqual(await pause(false, 'nobody'), seen);
    const pausedAt = clock.now();
    const paused = await pause(true, 'ana');
    assert.deepEqual(paused, { ...seen, pausedAt, changedBy: 'ana' });
    await clock.advance(second);
    assert.deepEqual(await pause(true, 'bob'), paused);
    const resumedAt = clock.now();
    const resumed = await pause(false, 'bob');
    assert.deepEqual(resumed, { ...seen, resumedAt, changedBy: 'bob' });
    await clock.advance(second);
    assert.deepEqual(await pause(false, 'ana'), resumed);
    const again = await pause(true, 'ana');
    const expected = { ...seen, pausedAt: clock.now(), resumedAt, changedBy: 'ana' };
    assert.deepEqual(again, expected);
    assert.deepEqual(await (await reopen()).schedules(), [again]);
  });

  test('B-050 what nobody has seen can be paused, and begins then', async ({ store, clock }) => {
    const handled = clock.now();
    const pause = { isPaused: true, by: 'ana' };
    const schedule = await keep(store, 's', { expected: null, pause });
    const never = { resumedAt: null, recent: [] };
    assert.deepEqual(schedule, {
      ...{ name: 's', handled, pausedAt: handled, changedBy: 'ana' },
      ...never,
    });
  });
}
