import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { delay, systemClock } from './clock.ts';

/** The mocked timer rings at the end of a tick, so ticks end where legs do. */
const legMs = 2 ** 31 - 1;
const longMs = 60 * 86_400_000;
const lastLegMs = longMs - 2 * legMs;

test('a wait beyond 2^31 ms does not fire at once, nor early, and fires once', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let rung = 0;
  systemClock.after(longMs, () => {
    rung += 1;
  });
  for (const ms of [1, legMs - 1, legMs, lastLegMs - 1]) {
    mock.timers.tick(ms);
    assert.equal(rung, 0);
  }
  mock.timers.tick(1);
  assert.equal(rung, 1);
  mock.timers.tick(longMs);
  assert.equal(rung, 1);
});

test('a wait beyond 2^31 ms is cancelled in its second leg, too', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let rung = 0;
  const cancel = systemClock.after(longMs, () => {
    rung += 1;
  });
  mock.timers.tick(legMs);
  cancel();
  for (const ms of [legMs, lastLegMs, longMs]) mock.timers.tick(ms);
  assert.equal(rung, 0);
  cancel();
});

test('a wait of nothing, or less, fires at the next turn and not within the call', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const rung: number[] = [];
  systemClock.after(0, () => rung.push(0));
  systemClock.after(-5, () => rung.push(-5));
  assert.deepEqual(rung, []);
  mock.timers.tick(1);
  assert.deepEqual(rung.sort(), [-5, 0].sort());
});

test('the steady clock never goes back, and the wall clock reads this century', () => {
  const readings = Array.from({ length: 100 }, () => systemClock.steady());
  assert.deepEqual(
    readings,
    readings.toSorted((a, b) => a - b),
  );
  assert.ok(systemClock.now() > Date.UTC(2020, 0, 1));
});

test('a delay resolves when its time has come', async () => {
  const clock = new VirtualClock();
  let isOver = false;
  const waited = delay(clock, 1_000).then(() => {
    isOver = true;
  });
  await clock.advance(999);
  assert.equal(isOver, false);
  await clock.advance(1);
  await waited;
  assert.equal(clock.pending, 0);
});

test('an abort ends a delay at once and leaves no timer', async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const waited = delay(clock, 1_000, abort.signal);
  await settle();
  assert.equal(clock.pending, 1);
  abort.abort();
  await waited;
  assert.equal(clock.pending, 0);
  await delay(clock, 1_000, abort.signal);
  assert.deepEqual([clock.pending, clock.steady()], [0, 0]);
});
