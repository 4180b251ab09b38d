import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlackoutDefinition, blackout } from './blackout.ts';
import { type InBlackout, Plan } from './plan.ts';
import type { Rule } from './rule.ts';
import { RuleError } from './rule-error.ts';
import { slots } from './slots.ts';

const at = (text: string): number => Date.parse(text);
const iso = (instant: number): string => new Date(instant).toISOString();

interface Case {
  readonly rule: Rule;
  readonly zone?: string;
  readonly blackouts?: readonly BlackoutDefinition[];
  readonly inBlackout?: InBlackout;
  readonly jitterMs?: number;
  readonly name?: string;
}

function planFor({ rule, zone = 'UTC', blackouts = [], ...rest }: Case): Plan {
  return new Plan({
    name: 'some',
    jitterMs: 0,
    inBlackout: 'skip',
    ...rest,
    slots: slots(rule, zone),
    blackouts: blackouts.map((definition, place) => blackout(`b${place}`, definition)),
  });
}

/** `slot → start`, by hours and minutes. */
function told(plan: Plan, from: string, to: string): string[] {
  const time = (instant: number | null): string =>
    instant === null ? 'never' : iso(instant).slice(11, 16);
  return [...plan.between(at(from) - 1, at(to))].map(
    ({ slot, startsAt }) => `${time(slot)} → ${time(startsAt)}`,
  );
}

const buenosAires = 'America/Argentina/Buenos_Aires';
const night = { from: '22:00', to: '06:00', zone: buenosAires };

test('B-070: a blackout over midnight begins at its first instant and has ended at its last', () => {
  const { at: windowAt } = blackout('night', night);
  const isInside = (time: string): boolean => windowAt(at(`${time}-03:00`)) !== null;
  const inside = ['2026-01-05T22:00:00', '2026-01-05T23:59:00', '2026-01-06T00:00:00'];
  for (const time of [...inside, '2026-01-06T05:59:59']) assert.ok(isInside(time), time);
  for (const time of ['2026-01-05T21:59:59', '2026-01-06T06:00:00'])
    assert.ok(!isInside(time), time);
});

test('B-070: equal bounds are refused, a whole day has words of its own', () => {
  assert.throws(() => blackout('b', { from: '06:00', to: '06:00', zone: 'UTC' }), RuleError);
  assert.throws(() => blackout('b', { from: '24:00', to: '06:00', zone: 'UTC' }), RuleError);
  const sunday = blackout('b', { from: '00:00', to: '24:00', days: ['sun'], zone: 'UTC' });
  assert.deepEqual(sunday.at(at('2026-01-04T12:00Z')), {
    start: at('2026-01-04T00:00Z'),
    end: at('2026-01-05T00:00Z'),
  });
  assert.equal(sunday.at(at('2026-01-05T00:00Z')), null);
});

test('the days of a blackout are those on which it begins', () => {
  const weekend = blackout('b', { from: '20:00', to: '04:00', days: ['fri'], zone: 'UTC' });
  assert.equal(weekend.at(at('2026-01-02T19:59Z')), null);
  assert.notEqual(weekend.at(at('2026-01-03T03:00Z')), null);
  assert.equal(weekend.at(at('2026-01-03T20:00Z')), null);
});

test('a blackout has no hole when the clocks change in it, and is empty when they leave it out', () => {
  const zone = 'Europe/Berlin';
  const late = blackout('b', { from: '02:30', to: '03:30', zone });
  assert.deepEqual(late.at(at('2026-10-25T01:15Z')), {
    start: at('2026-10-25T00:30Z'),
    end: at('2026-10-25T02:30Z'),
  });
  const inGap = blackout('b', { from: '02:10', to: '02:50', zone });
  for (const time of ['00:30', '01:00', '01:30', '12:00']) {
    assert.equal(inGap.at(at(`2026-03-29T${time}Z`)), null, time);
  }
});

test('slots in a blackout are left out, or the last of them begins at its end', () => {
  const rule = { every: '2h' };
  const blackouts = [{ from: '03:00', to: '07:30', zone: 'UTC' }];
  const day = ['2026-01-05T02:00Z', '2026-01-05T08:00Z'] as const;
  assert.deepEqual(told(planFor({ rule, blackouts }), ...day), [
    '02:00 → 02:00',
    '04:00 → never',
    '06:00 → never',
    '08:00 → 08:00',
  ]);
  assert.deepEqual(told(planFor({ rule, blackouts, inBlackout: 'postpone' }), ...day), [
    '02:00 → 02:00',
    '04:00 → never',
    '06:00 → 07:30',
    '08:00 → 08:00',
  ]);
});

test('a slot at the very end of a blackout stands for those in it', () => {
  const blackouts = [{ from: '03:00', to: '06:00', zone: 'UTC' }];
  const plan = planFor({ rule: { every: '2h' }, blackouts, inBlackout: 'postpone' });
  assert.deepEqual(told(plan, '2026-01-05T04:00Z', '2026-01-05T06:00Z'), [
    '04:00 → never',
    '06:00 → 06:00',
  ]);
});

test('blackouts that follow each other are one, and what never ends is no endless loop', () => {
  const rule = { dailyAt: '01:00' };
  const two = [
    { from: '00:00', to: '04:00', zone: 'UTC' },
    { from: '04:00', to: '09:00', zone: 'UTC' },
  ];
  const plan = planFor({ rule, blackouts: two, inBlackout: 'postpone' });
  assert.deepEqual(told(plan, '2026-01-05T00:00Z', '2026-01-05T12:00Z'), ['01:00 → 09:00']);
  const always = [...two, { from: '09:00', to: '00:00', zone: 'UTC' }];
  const none = planFor({ rule: { monthlyDates: [1], time: '00:00' }, blackouts: always });
  assert.equal(none.of(at('2026-01-01T00:00Z')).startsAt, null);
  const never = planFor({ rule, blackouts: always, inBlackout: 'postpone' });
  assert.equal(never.of(at('2026-01-01T01:00Z')).startsAt, null);
});

test('jitter is the same for all who ask, spread, below its limit and below the next slot', () => {
  const one = planFor({ rule: { every: '1m' }, jitterMs: 600_000 });
  const again = planFor({ rule: { every: '1m' }, jitterMs: 600_000 });
  const other = planFor({ rule: { every: '1m' }, jitterMs: 600_000, name: 'other' });
  const minutes = Array.from({ length: 500 }, (_, minute) => minute * 60_000);
  const late = minutes.map((slot) => (one.of(slot).startsAt ?? 0) - slot);
  assert.deepEqual(
    late,
    minutes.map((slot) => (again.of(slot).startsAt ?? 0) - slot),
  );
  assert.notDeepEqual(
    late,
    minutes.map((slot) => (other.of(slot).startsAt ?? 0) - slot),
  );
  assert.ok(late.every((ms) => ms >= 0 && ms < 60_000));
  const mean = late.reduce((sum, ms) => sum + ms, 0) / late.length;
  assert.ok(mean > 25_000 && mean < 35_000, `mean ${mean}`);
});
