import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { durationMs, formatDuration, maxDurationMs, parseDuration } from './duration.ts';

test('a length of time is read in every unit, whole and broken, alone and together', () => {
  const lengths: readonly [string, number][] = [
    ['0ms', 0],
    ['500ms', 500],
    ['10s', 10_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1.5h', 5_400_000],
    ['0.5s250ms', 750],
    ['36500d', maxDurationMs],
  ];
  for (const [text, ms] of lengths) assert.equal(parseDuration(text), ms, text);
});

test('bare numbers and everything else that is no length of time are refused', () => {
  const others = [
    '',
    '10',
    '1000',
    '1.5',
    '-5s',
    '+5s',
    ' 5s',
    '5s ',
    '5 s',
    '5S',
    '5w',
    's',
    '.5s',
  ];
  others.push('1e3s', 'NaNs', 'Infinitys', '5s,3m', '36501d', `${'9'.repeat(400)}d`);
  for (const text of others) {
    assert.equal(parseDuration(text), undefined, text);
    assert.throws(() => durationMs(text), RangeError);
  }
  assert.throws(() => durationMs('10'), /"10" is no duration; write it like 500ms/);
});

test('a spelling for people has at most two units and reads back to nearly the same', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: maxDurationMs }), (ms) => {
      const text = formatDuration(ms);
      const back = durationMs(text);
      assert.match(text, /^\d+(\.\d)?[a-z]+(\d+[a-z]+)?$/);
      // What is left out is less than one of the second unit.
      const slackMs = ms < 1_000 ? 0 : ms < 3_600_000 ? 500 : ms < 86_400_000 ? 60_000 : 3_600_000;
      assert.ok(Math.abs(back - ms) <= slackMs, `${ms} → ${text} → ${back}`);
      assert.equal(formatDuration(back), text);
    }),
  );
});

test('a spelling for people is the usual one', () => {
  const spellings: readonly [number, string][] = [
    [0, '0ms'],
    [-5, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [9_949, '9.9s'],
    [9_999, '10s'],
    [59_999, '1m'],
    [90_000, '1m30s'],
    [3_600_000, '1h'],
    [86_400_000 + 60_000, '1d1m'],
  ];
  for (const [ms, text] of spellings) assert.equal(formatDuration(ms), text);
});
