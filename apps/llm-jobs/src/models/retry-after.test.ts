import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './retry-after.ts';

const now = Date.UTC(2026, 10, 28, 12, 0, 0);

test('W-l retry-after is read in seconds, as a date of HTTP, and in ms', () => {
  assert.equal(retryAfterMs({ 'retry-after': '7' }, now), 7_000);
  assert.equal(retryAfterMs({ 'retry-after': '0.5' }, now), 500);
  assert.equal(retryAfterMs({ 'retry-after': 'Sat, 28 Nov 2026 12:00:30 GMT' }, now), 30_000);
  assert.equal(retryAfterMs({ 'retry-after': '2', 'retry-after-ms': '1500' }, now), 1_500);
});

test('W-l a date counts from the date of the same answer, not from our clock', () => {
  const headers = {
    'retry-after': 'Sat, 28 Nov 2026 15:00:30 GMT',
    date: 'Sat, 28 Nov 2026 15:00:00 GMT',
  };
  assert.equal(retryAfterMs(headers, now), 30_000);
  assert.equal(retryAfterMs({ ...headers, 'retry-after': headers.date }, now), 0);
});

test('W-l what can not be read is not guessed', () => {
  for (const value of ['', 'soon', '-3', '1 minute']) {
    assert.equal(retryAfterMs({ 'retry-after': value }, now), null, value);
  }
  assert.equal(retryAfterMs({}, now), null);
  assert.equal(retryAfterMs({ 'retry-after': 'Sat, 28 Nov 2026 11:59:00 GMT' }, now), 0);
});
