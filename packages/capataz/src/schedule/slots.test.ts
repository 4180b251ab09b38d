import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from './rule.ts';
import { RuleError } from './rule-error.ts';
import { slots } from './slots.ts';
import { dayMs } from './wall-time.ts';
import { zoneOf } from './zone.ts';

const iso = (instant: number | null): string | null =>
  instant === null ? null : new Date(instant).toISOString().slice(0, 16);

function between(rule: Rule, zone: string, from: string, to: string): (string | null)[] {
  return [...slots(rule, zone).between(Date.parse(from) - 1, Date.parse(to))].map(iso);
}

for (const [name, rule] of [
  ['daily', { dailyAt: '02:30' }],
  ['as cron', { cron: '30 2 * * *' }],
] as const) {
  test(`B-040: 02:30 in New York, ${name}: behind the gap in March, once in November`, () => {
    const zone = 'America/New_York';
    assert.deepEqual(between(rule, zone, '2026-03-07T12:00Z', '2026-03-10T12:00Z'), [
      '2026-03-08T07:00',
      '2026-03-09T06:30',
      '2026-03-10T06:30',
    ]);
    assert.deepEqual(between(rule, zone, '2026-10-31T12:00Z', '2026-11-02T12:00Z'), [
      '2026-11-01T07:30',
      '2026-11-02T07:30',
    ]);
  });
}

test('B-040: 01:30, which comes twice on a November day, counts the first time', () => {
  for (const rule of [{ dailyAt: '01:30' }, { cron: '30 1 * * *' }]) {
    assert.deepEqual(between(rule, 'America/New_York', '2026-10-31T12:00Z', '2026-11-02T12:00Z'), [
      '2026-11-01T05:30',
      '2026-11-02T06:30',
    ]);
  }
});

test('times that fall into one gap are one slot', () => {
  const rule = { dailyAt: ['02:10', '02:30', '03:00', '03:30'] };
  assert.deepEqual(between(rule, 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T12:00Z'), [
    '2026-03-29T01:00',
    '2026-03-29T01:30',
  ]);
});

test('a cron expression for every hour goes on every hour when the clocks change', () => {
  const rule = { cron: '30 * * * *' };
  assert.deepEqual(between(rule, 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T03:00Z'), [
    '2026-03-29T00:30',
    '2026-03-29T01:30',
    '2026-03-29T02:30',
  ]);
  assert.deepEqual(between(rule, 'Europe/Berlin', '2026-10-25T00:00Z', '2026-10-25T03:00Z'), [
    '2026-10-25T00:30',
    '2026-10-25T01:30',
    '2026-10-25T02:30',
  ]);
});

test('an interval is elapsed time from its anchor, and has no slot before it', () => {
  const rule = { every: '36h', anchor: '2026-03-28T06:00:00+01:00' };
  const found = slots(rule, 'Europe/Berlin');
  assert.deepEqual(between(rule, 'Europe/Berlin', '2026-03-01T00:00Z', '2026-04-01T00:00Z'), [
    '2026-03-28T05:00',
    '2026-03-29T17:00',
    '2026-03-31T05:00',
  ]);
  assert.equal(found.previous(Date.parse('2026-03-28T05:00Z')), null);
});

test('the last day of a month, and a day that not every month has', () => {
  const of = (date: number | 'last'): (string | null)[] =>
    between(
      { monthlyDates: [date], time: '12:00' },
      'UTC',
      '2026-01-15T00:00Z',
      '2026-04-15T00:00Z',
    );
  assert.deepEqual(of('last'), ['2026-01-31T12:00', '2026-02-28T12:00', '2026-03-31T12:00']);
  assert.deepEqual(of(31), ['2026-01-31T12:00', '2026-03-31T12:00']);
});

test('a day that Samoa left out comes behind the gap, and once', () => {
  assert.deepEqual(
    between({ dailyAt: '08:00' }, 'Pacific/Apia', '2011-12-29T00:00Z', '2012-01-01T00:00Z'),
    ['2011-12-29T18:00', '2011-12-30T10:00', '2011-12-30T18:00', '2011-12-31T18:00'],
  );
});

test('B-043: midnight where clocks change at midnight: 400 slots, ascending, on the right dates', () => {
  const cases: (readonly [string, string])[] = [
    ['America/Santiago', '2026-01-01'],
    ['America/Havana', '2026-01-01'],
    ['Africa/Cairo', '2026-01-01'],
    ['Asia/Beirut', '2026-01-01'],
    ['America/Sao_Paulo', '2017-01-01'],
  ];
  for (const [name, from] of cases) {
    const zone = zoneOf(name);
    for (const rule of [
      { dailyAt: '00:00' },
      { monthlyDates: [10], time: '00:00' },
      { cron: '30 0 * * *' },
    ]) {
      const found: number[] = [];
      for (const slot of slots(rule, name).between(Date.parse(from), Number.MAX_SAFE_INTEGER)) {
        if (found.push(slot) === 400) break;
      }
      for (const [place, slot] of found.entries()) {
        const wall = slot + zone.offsetAt(slot);
        const before = found[place - 1] ?? 0;
        assert.ok(slot > before, `${name} ${iso(slot)} stands behind ${iso(before)}`);
        // Midnight itself, or the end of the gap that has swallowed it.
        assert.ok(wall % dayMs <= 90 * 60_000, `${name} ${iso(wall)}`);
        if ('monthlyDates' in rule) assert.equal(new Date(wall).getUTCDate(), 10);
      }
    }
  }
});

test('B-044: what can never be is refused, with its field', () => {
  const refused = (rule: Rule): string => {
    try {
      slots(rule, 'UTC');
    } catch (error) {
      if (error instanceof RuleError) return `${error.field}: ${error.message}`;
      throw error;
    }
    return 'taken';
  };
  const cron = (text: string): string => refused({ cron: text });
  assert.match(cron('0 0 30 2 *'), /^cron: .*never comes/);
  assert.match(cron('0 0 31 4 *'), /^cron: .*never comes/);
  assert.match(cron('0 0 0 * *'), /^cron: has "0" where the day of the month/);
  assert.match(cron('0 0 32 * *'), /^cron: has "32" where the day of the month/);
  assert.match(cron('0 0 * 13 *'), /^cron: has "13" where the month/);
  assert.match(cron('*/0 * * * *'), /^cron: has "\*\/0" where the minute/);
  assert.match(cron('0 0 * * 8'), /^cron: has "8" where the day of the week/);
  assert.match(cron('0 20-8 * * *'), /^cron: has "20-8" where the hour/);
  assert.match(cron('0,, * * * *'), /^cron: has "0,," where the minute/);
  assert.match(cron('0 0 * * * * 2026'), /^cron: must have five fields/);
  assert.match(cron('@daily'), /^cron: must have five fields/);
  assert.match(refused({ monthlyDates: [], time: '00:00' }), /^monthlyDates: .*at least one/);
  assert.match(refused({ monthlyDates: [0], time: '00:00' }), /^monthlyDates: .*not 0/);
  assert.match(refused({ monthlyDates: [32], time: '00:00' }), /^monthlyDates: .*not 32/);
  assert.match(refused({ weeklyDays: [], time: '00:00' }), /^weeklyDays: .*at least one/);
  assert.match(refused({ dailyAt: '24:00' }), /^dailyAt: .*not "24:00"/);
  assert.match(refused({ every: '0s' }), /^every: must be at least 1s/);
  assert.match(refused({ every: '10' }), /^every: must be a duration/);
  assert.match(refused({ every: '1d', anchor: '2026-01-01' }), /^anchor: .*with an offset/);
});

test('a 29 February on a Monday is found over decades, and what there is not is null', () => {
  const rule = { cron: '0 0 29 2 1#5' };
  assert.equal(iso(slots(rule, 'UTC').next(Date.parse('2026-01-01'))), '2028-02-29T00:00');
  const anchored = slots({ every: '1d', anchor: '2030-01-01T00:00:00Z' }, 'UTC');
  assert.equal(anchored.previous(Date.parse('2026-01-01')), null);
});
