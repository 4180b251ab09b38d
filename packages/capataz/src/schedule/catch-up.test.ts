import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blackout } from './blackout.ts';
import { type CatchUp, catchUpPolicies, dueSlots, type ScheduleState } from './catch-up.ts';
import { overlapPolicies, overlapStart } from './overlap.ts';
import { Plan } from './plan.ts';
import { slotKey } from './schedule.ts';
import { slots } from './slots.ts';

const minute = 60_000;
const hour = 60 * minute;

function everyHour(jitterMs = 0): Plan {
  return new Plan({
    name: 'hourly',
    slots: slots({ every: '1h' }, 'UTC'),
    jitterMs,
    blackouts: [blackout('noon', { from: '12:00', to: '13:30', zone: 'UTC' })],
    inBlackout: 'skip',
  });
}

const catchUp = (policy: CatchUp['policy'], limit = 100): CatchUp => ({
  policy,
  limit,
  toleranceMs: minute,
});

const seen = (handled: number): ScheduleState => ({ handled, resumedAt: null });

/** The hours that are started at `now`, and those that are passed over. */
function hours(state: ScheduleState, now: number, how: CatchUp): { due: number[]; passed: string } {
  const { due, passed } = dueSlots(everyHour(), state, now, how);
  return {
    due: due.map(({ slot }) => slot / hour),
    passed: passed === null ? 'none' : `${passed.first / hour}-${passed.last / hour}`,
  };
}

test('what is on time runs whatever the policy says', () => {
  for (const policy of catchUpPolicies) {
    const found = hours(seen(2 * hour), 3 * hour + 59_000, catchUp(policy));
    assert.deepEqual(found, { due: [3], passed: 'none' });
  }
});

test('of missed slots none, the last one, or all up to the limit run; the others are told', () => {
  const now = 9 * hour + 30 * minute;
  assert.deepEqual(hours(seen(2 * hour), now, catchUp('skip')), { due: [], passed: '3-9' });
  assert.deepEqual(hours(seen(2 * hour), now, catchUp('last')), { due: [9], passed: '3-8' });
  assert.deepEqual(hours(seen(6 * hour), now, catchUp('all')), { due: [7, 8, 9], passed: 'none' });
  assert.deepEqual(hours(seen(2 * hour), now, catchUp('all', 2)), { due: [8, 9], passed: '3-7' });
});

test('a slot on time makes up for the missed ones where the last one counts', () => {
  assert.deepEqual(hours(seen(2 * hour), 9 * hour, catchUp('last')), { due: [9], passed: '3-8' });
});

test('slots in a blackout are told, and the one before it is caught up with', () => {
  const state = seen(10 * hour);
  const found = dueSlots(everyHour(), state, 13 * hour + 40 * minute, catchUp('last'));
  assert.deepEqual(
    found.due.map(({ slot }) => slot / hour),
    [11],
  );
  assert.deepEqual(
    found.blackedOut.map(({ slot }) => slot / hour),
    [13],
  );
  assert.equal(found.nextAt, 14 * hour);
});

test('B-050: what came in a pause was missed, however short ago, and what comes after it is not', () => {
  const resumed = { handled: 2 * hour, resumedAt: 9 * hour + minute / 2 };
  const at = 9 * hour + minute;
  assert.deepEqual(hours(resumed, at, catchUp('skip')), { due: [], passed: '3-9' });
  assert.deepEqual(hours(resumed, at, catchUp('last')), { due: [9], passed: '3-8' });
  assert.deepEqual(hours(resumed, at, catchUp('all')).due, [3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(hours(resumed, 10 * hour, catchUp('last')), { due: [10], passed: '3-9' });
});

test('with jitter a slot that is not yet due is neither started nor lost', () => {
  const plan = everyHour(50 * minute);
  const starts = plan.of(5 * hour).startsAt ?? 0;
  const before = dueSlots(plan, seen(4 * hour), starts - 1, catchUp('skip'));
  assert.deepEqual([before.due, before.nextAt], [[], starts]);
  const after = dueSlots(plan, seen(4 * hour), starts, catchUp('skip'));
  assert.deepEqual(
    after.due.map(({ slot }) => slot / hour),
    [5],
  );
});

const cases = fc.record({
  steps: fc.array(fc.integer({ min: 1, max: 5 * hour }), { minLength: 1, maxLength: 40 }),
  every: fc.constantFrom('7m', '1h', '5h', '26h'),
  jitterMs: fc.constantFrom(0, 3 * minute, 2 * hour),
  inBlackout: fc.constantFrom('skip' as const, 'postpone' as const),
  windows: fc.array(fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 1, max: 10 })), {
    maxLength: 2,
  }),
});

const clock = (at: number): string => `${String(at % 24).padStart(2, '0')}:00`;

test('whoever asks at whatever times starts each slot that starts, and knows when the next does', () => {
  const property = fc.property(cases, ({ steps, every, windows, ...options }) => {
    const blackouts = windows.map(([from, hours], place) =>
      blackout(`b${place}`, { from: clock(from), to: clock(from + hours), zone: 'UTC' }),
    );
    const plan = new Plan({ name: 'some', slots: slots({ every }, 'UTC'), blackouts, ...options });
    let [now, handled] = [0, 0];
    const started: number[] = [];
    for (const step of steps) {
      now += step;
      const { due, blackedOut, nextAt } = dueSlots(plan, seen(handled), now, catchUp('all', 1_000));
      started.push(...due.map(({ slot }) => slot));
      handled = Math.max(handled, due.at(-1)?.slot ?? 0, blackedOut.at(-1)?.slot ?? 0);
      assert.equal(nextAt, slowNextStart(plan, handled, now));
    }
    const wanted = [...plan.between(0, now)].filter(({ startsAt }) => (startsAt ?? now + 1) <= now);
    assert.deepEqual(
      started,
      wanted.map(({ slot }) => slot),
    );
  });
  fc.assert(property);
});

/** Slot by slot, from those that may still be under way. */
function slowNextStart(plan: Plan, handled: number, now: number): number | null {
  const first = Math.max(handled, now - 60 * hour);
  for (const { startsAt } of plan.between(first, now + 1_000 * hour)) {
    if (startsAt !== null && startsAt > now) return startsAt;
  }
  return null;
}

test('B-050: an overlap cancels earlier runs alone, never the own or a later one', () => {
  const open = [
    { job: 'earlier', slot: 1 },
    { job: 'own', slot: 2 },
    { job: 'later', slot: 3 },
  ];
  const starts = overlapPolicies.map((policy) => overlapStart(policy, 2, open));
  assert.deepEqual(starts, [
    { onBusy: null, cancel: [] },
    { onBusy: 'skip', cancel: [] },
    { onBusy: 'queue', cancel: [] },
    { onBusy: null, cancel: ['earlier'] },
  ]);
});

test('the key of a slot is made of its schedule and its instant', () => {
  assert.equal(slotKey('nightly', 0), 'schedule/nightly/1970-01-01T00:00:00.000Z');
});
