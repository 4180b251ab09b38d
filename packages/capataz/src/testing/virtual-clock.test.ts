import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from './virtual-clock.ts';

test('alarms ring in the order of their time, and at one time in the order of their setting', async () => {
  const clock = new VirtualClock();
  const rung: string[] = [];
  const ring = (name: string) => () => rung.push(`${name}@${clock.steady()}`);
  clock.after(20, ring('late'));
  clock.after(10, ring('first'));
  clock.after(10, ring('second'));
  clock.after(-5, ring('past'));
  await clock.advance(15);
  assert.deepEqual(rung, ['past@0', 'first@10', 'second@10']);
  assert.deepEqual([clock.pending, clock.nextInMs()], [1, 5]);
  await clock.advance(5);
  assert.equal(rung.at(-1), 'late@20');
  assert.deepEqual([clock.pending, clock.nextInMs()], [0, null]);
});

test('an alarm that is set by an alarm rings within the same advance, if its time comes', async () => {
  const clock = new VirtualClock();
  const rung: number[] = [];
  const again = (): void => {
    rung.push(clock.steady());
    clock.after(10, again);
  };
  clock.after(10, again);
  await clock.advance(35);
  assert.deepEqual(rung, [10, 20, 30]);
  assert.equal(clock.steady(), 35);
});

test('what follows from one alarm settles before the next one rings', async () => {
  const clock = new VirtualClock();
  const steps: string[] = [];
  clock.after(10, () => {
    void Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => steps.push('followed'));
  });
  clock.after(10, () => steps.push('next'));
  await clock.advance(10);
  assert.deepEqual(steps, ['followed', 'next']);
});

test('a cancelled alarm does not ring, also when it is cancelled by the one before', async () => {
  const clock = new VirtualClock();
  const rung: string[] = [];
  const cancel = clock.after(10, () => rung.push('cancelled'));
  clock.after(5, () => {
    rung.push('canceller');
    cancel();
  });
  await clock.advance(20);
  cancel();
  assert.deepEqual(rung, ['canceller']);
});

test('a step of the wall clock moves no alarm', async () => {
  const clock = new VirtualClock({ now: 1_000_000 });
  const rung: number[] = [];
  clock.after(10, () => rung.push(clock.now()));
  clock.step(-3_600_000);
  assert.deepEqual([clock.now(), clock.steady(), clock.nextInMs()], [-2_600_000, 0, 10]);
  await clock.advance(10);
  assert.deepEqual(rung, [-2_599_990]);
});
