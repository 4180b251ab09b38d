import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { MovableClock } from './movable-clock.ts';

const day = 86_400_000;

test('B-046: a moved clock rings what has become due, in order and once, and nothing else', async () => {
  const base = new VirtualClock();
  const clock = new MovableClock(base);
  const rung: string[] = [];
  const ring = (name: string) => () => rung.push(name);
  clock.after(30 * day, ring('thirty'));
  clock.after(25 * day, ring('twenty-five'));
  clock.after(10 * day, ring('cancelled'))();
  const start = clock.now();
  clock.advance(25 * day - 1);
  await base.advance(0);
  assert.deepEqual(rung, []);
  await base.advance(1);
  assert.deepEqual(rung, ['twenty-five']);
  assert.equal(clock.now() - start, 25 * day);
  clock.after(1, ring('late'));
  clock.advance(10 * day);
  await base.advance(0);
  assert.deepEqual(rung, ['twenty-five', 'late', 'thirty']);
  clock.advance(100 * day);
  await base.advance(0);
  assert.equal(rung.length, 3);
});
